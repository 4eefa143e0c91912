#include "config/value.h"

#include <fmt/format.h>

namespace snug::config {
namespace {

// Shortest text that reads back to the same number, always recognisable as a float.
std::string float_text(double number) {
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string quoted(const std::string& text) {
  const char quote =
      text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string literal(1, quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      literal += {'\\', c};
    } else if (c == '\n') {
      literal += "\\n";
    } else if (c == '\t') {
      literal += "\\t";
    } else if (c == '\r') {
      literal += "\\r";
    } else if (byte < 0x20 || byte == 0x7F) {
      literal += fmt::format("\\x{:02x}", byte);
    } else {
      literal += c;
    }
  }
  return literal + quote;
}

struct TypeName {
  std::string_view operator()(PythonNone) const { return "None"; }
  std::string_view operator()(bool) const { return "True or False"; }
  std::string_view operator()(std::int64_t) const { return "a whole number"; }
  std::string_view operator()(double) const { return "a number"; }
  std::string_view operator()(const std::string&) const { return "a string"; }
  std::string_view operator()(PythonSequence s) const { return s.is_tuple ? "a tuple" : "a list"; }
};

struct Str {
  std::string operator()(PythonNone) const { return "None"; }
  std::string operator()(bool b) const { return b ? "True" : "False"; }
  std::string operator()(std::int64_t i) const { return std::to_string(i); }
  std::string operator()(double d) const { return float_text(d); }
  std::string operator()(const std::string& s) const { return s; }
  std::string operator()(PythonSequence s) const { return s.is_tuple ? "(...)" : "[...]"; }
};

struct Truth {
  bool operator()(PythonNone) const { return false; }
  bool operator()(bool b) const { return b; }
  bool operator()(std::int64_t i) const { return i != 0; }
  bool operator()(double d) const { return d != 0; }
  bool operator()(const std::string& s) const { return !s.empty(); }
  bool operator()(PythonSequence) const { return true; }
};

}  // namespace

std::string_view type_name(const Value& value) { return std::visit(TypeName{}, value); }

std::string python_str(const Value& value) { return std::visit(Str{}, value); }

std::string python_repr(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text ? quoted(*text) : python_str(value);
}

bool is_true(const Value& value) { return std::visit(Truth{}, value); }

}  // namespace snug::config
