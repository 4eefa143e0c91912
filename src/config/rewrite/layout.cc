#include "config/rewrite/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "config/python/evaluator.h"
#include "config/python/literals.h"

namespace snug::config::rewrite {
namespace {

// The text with a constant for each time.time(), so that all readings agree. No byte moves.
std::string with_stopped_clock(const SourceFile& source) {
  constexpr std::string_view kCall[] = {"time", ".", "time", "(", ")"};
  constexpr std::string_view kTime = "(1.7000e+9)";  // of the shortest call's length
  const std::vector<python::Token> tokens = python::tokenize(source);
  std::string text(source.text());
  for (std::size_t i = 0; i + std::size(kCall) <= tokens.size(); ++i) {
    const bool called = std::equal(std::begin(kCall), std::end(kCall),
                                   tokens.begin() + static_cast<std::ptrdiff_t>(i),
                                   [&](std::string_view word, const python::Token& t) {
                                     return source.slice(t.extent) == word;
                                   });
    if (!called) continue;
    const std::size_t begin = tokens[i].extent.begin;
    const std::size_t length = tokens[i + std::size(kCall) - 1].extent.end - begin;
    text.replace(begin, length, std::string(kTime) + std::string(length - kTime.size(), ' '));
  }
  return text;
}

}  // namespace

Normalised normalise(const std::string& raw) {
  Normalised result;
  std::size_t i = raw.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  while (i < raw.size()) {
    result.raw_at.push_back(i);
    const bool two = raw[i] == '\r' && i + 1 < raw.size() && raw[i + 1] == '\n';
    result.text += raw[i] == '\r' ? '\n' : raw[i];
    i += two ? 2 : 1;
  }
  result.raw_at.push_back(raw.size());
  return result;
}

Layout lay_out(const SourceFile& source, const python::Module& module) {
  Layout layout{python::tokenize(source), {}, {}};
  const std::vector<python::Token>& tokens = layout.tokens;
  Line line;
  std::size_t first = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool is_newline = tokens[i].kind == python::Token::Kind::kNewline;
    if (!is_newline && source.slice(tokens[i].extent) != ";") continue;
    const std::size_t next = layout.statements.size();
    if (i > first) ++line.statement_count;
    if (i > first && next < module.assignments.size()) {
      const std::vector<python::AssignmentTarget>& targets = module.assignments[next].targets;
      if (tokens[first].extent.begin == targets.front().extent.begin) {
        layout.statements.push_back({first, first + 2 * targets.size(), i, layout.lines.size()});
      }
    }
    first = i + 1;
    if (!is_newline) continue;
    line.tail = {tokens[i - 1].extent.end, tokens[i].extent.begin};
    layout.lines.push_back(std::exchange(line, {}));
  }
  return layout;
}

std::string Quote::text() const {
  return fmt::format("{} {} {}", fmt::join(targets, " = "), sign, value);
}

bool Quote::shares_target(const Quote& other) const {
  return std::find_first_of(targets.begin(), targets.end(), other.targets.begin(),
                            other.targets.end()) != targets.end();
}

Quote quote(const SourceFile& source, const std::vector<python::Token>& tokens,
            const Statement& s) {
  Quote result;
  for (std::size_t i = s.first; i < s.value; i += 2) {
    result.targets.emplace_back(source.slice(tokens[i].extent));
  }
  result.sign = source.slice(tokens[s.value - 1].extent);
  for (std::size_t i = s.value; i < s.end; ++i) {
    const std::string_view gap = source.slice({tokens[i - 1].extent.end, tokens[i].extent.begin});
    if (i > s.value) result.value += gap.find_first_not_of(" \t") == gap.npos ? gap : " ";
    const std::string_view text = source.slice(tokens[i].extent);
    const bool one_line = text.find('\n') == text.npos;
    const auto parts =
        one_line ? std::vector<python::StringPart>() : python::decode_string(source, tokens[i]);
    const bool is_plain = parts.size() == 1 && !parts[0].name;
    result.value += is_plain ? python_repr(parts[0].text) : std::string(text);
  }
  return result;
}

Noted read_note(std::string_view comment, const std::vector<std::string>& alone) {
  if (!comment.starts_with(kWas)) return {};
  const auto parse = [](const auto& parser, const SourceFile& source) -> decltype(parser(source)) {
    try {
      return parser(source);
    } catch (const ConfigError&) {
      return {};
    }
  };
  const SourceFile whole("", std::string(comment.substr(kWas.size())));
  const std::vector<python::Token> tokens = parse(python::tokenize, whole);
  if (tokens.size() < 3) return {};
  const std::size_t length = tokens[tokens.size() - 3].extent.end;  // then kNewline and kEnd
  const SourceFile source("", std::string(whole.text().substr(0, length)));
  Noted noted{{}, kWas.size() + length};
  if (!alone.empty() && parse(python::parse_expression, source)) {
    noted.quotes.push_back({alone, "=", std::string(source.text())});
    return noted;
  }
  const python::Module module = parse(python::parse_module, source);
  const Layout layout = lay_out(source, module);
  for (const Statement& s : layout.statements) {
    noted.quotes.push_back(quote(source, layout.tokens, s));
  }
  const bool all =
      layout.lines.size() == 1 && layout.lines[0].statement_count == layout.statements.size();
  return all && !noted.quotes.empty() ? noted : Noted{};
}

EditedFile::EditedFile(const std::string& name, const std::string& bytes)
    : raw(bytes),
      normalised(normalise(raw)),
      source(name, normalised.text),
      stopped(name, with_stopped_clock(source)),
      module(python::parse_module(stopped)),
      layout(lay_out(source, module)) {}

}  // namespace snug::config::rewrite
