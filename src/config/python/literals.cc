#include "config/python/literals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

namespace snug::config::python {
namespace {

bool is_digit_of(char c, int base) {
  if (base == 16) return std::isxdigit(static_cast<unsigned char>(c)) != 0;
  return c >= '0' && c < '0' + base;
}

// Removes underscores, which Python allows only between two digits (or after a base prefix).
std::optional<std::string> without_underscores(std::string_view text, int base, bool after_prefix) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      digits += text[i];
      continue;
    }
    const bool before = i == 0 ? after_prefix : is_digit_of(text[i - 1], base);
    const bool after = i + 1 < text.size() && is_digit_of(text[i + 1], base);
    if (!before || !after) return std::nullopt;
  }
  return digits;
}

int base_of(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') return 10;
  switch (text[1]) {
    case 'x':
    case 'X':
      return 16;
    case 'o':
    case 'O':
      return 8;
    case 'b':
    case 'B':
      return 2;
    default:
      return 10;
  }
}

[[noreturn]] void fail_number(const SourceFile& source, const Token& token, bool range) {
  const std::string shown = shortened(source.slice(token.extent), 40);
  if (range) {
    source.fail(token.extent, {fmt::format("{} does not fit 64 bits", shown),
                               "no setting takes a number of that size"});
  }
  source.fail(token.extent, {fmt::format("`{}` is not a number", shown),
                             "numbers look like 12, 600_000, 0x10, 0.5 or 6e-4"});
}

template <typename T, typename... Format>
Value parse_all(const SourceFile& source, const Token& token, std::string_view text,
                Format... format) {
  T number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, format...);
  if (stop != end || error == std::errc::invalid_argument) fail_number(source, token, false);
  if (error == std::errc::result_out_of_range) fail_number(source, token, true);
  return number;
}

void append_utf8(std::string& text, std::uint32_t point) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((point >> shift) & 0x3F)); };
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += {static_cast<char>(0xC0 | (point >> 6)), tail(0)};
  } else if (point < 0x10000) {
    text += {static_cast<char>(0xE0 | (point >> 12)), tail(6), tail(0)};
  } else {
    text += {static_cast<char>(0xF0 | (point >> 18)), tail(12), tail(6), tail(0)};
  }
}

// Decodes the body of a string, that is what stands between its quotes.
class Unescaper {
 public:
  Unescaper(const SourceFile& source, std::size_t begin, std::string_view body)
      : source_(source), begin_(begin), body_(body) {}

  std::string run() {
    while (at_ < body_.size()) {
      if (body_[at_] == '\\') {
        escape();
      } else {
        result_ += body_[at_++];
      }
    }
    return std::move(result_);
  }

 private:
  // The lexer never leaves a lone backslash at the end.
  void escape() {
    constexpr std::string_view kLetters = "\\'\"abfnrtv", kValues = "\\'\"\a\b\f\n\r\t\v";
    const char c = body_[at_ + 1];
    const std::size_t simple = kLetters.find(c);
    if (simple != kLetters.npos) {
      result_ += kValues[simple];
      at_ += 2;
    } else if (c == '\n') {
      at_ += 2;
    } else if (c >= '0' && c <= '7') {
      code_point(at_ + 1, octal_length(), 8);
    } else if (c == 'x' || c == 'u' || c == 'U') {
      code_point(at_ + 2, c == 'x' ? 2 : c == 'u' ? 4 : 8, 16);
    } else if (c == 'N') {
      fail(2);
    } else {
      result_ += body_[at_++];  // Python keeps an unknown escape as it is
    }
  }

  std::size_t octal_length() const {
    std::size_t length = 1;
    while (length < 3 && at_ + 1 + length < body_.size() &&
           is_digit_of(body_[at_ + 1 + length], 8)) {
      ++length;
    }
    return length;
  }

  void code_point(std::size_t begin, std::size_t length, int base) {
    const std::string_view digits = body_.substr(std::min(begin, body_.size()), length);
    std::uint32_t point = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, point, base);
    const bool surrogate = point >= 0xD800 && point < 0xE000;
    if (digits.size() < length || stop != end || error != std::errc() || surrogate ||
        point > 0x10FFFF) {
      fail(2);
    }
    append_utf8(result_, point);
    at_ = begin + length;
  }

  [[noreturn]] void fail(std::size_t length) const {
    source_.fail(
        {begin_ + at_, begin_ + at_ + length},
        {"this escape is not read", "write the character itself, or \\\\ for a backslash"});
  }

  const SourceFile& source_;
  std::size_t begin_;
  std::string_view body_;
  std::size_t at_ = 0;
  std::string result_;
};

bool is_name(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && letter(text[0]) &&
         std::ranges::all_of(text, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// Cuts the body of an f-string, which starts at `begin` of the source, into its parts. Doubled
// braces are braces.
class FormatString {
 public:
  FormatString(const SourceFile& source, std::size_t begin, std::string_view body, bool raw)
      : source_(source), begin_(begin), body_(body), raw_(raw) {}

  std::vector<StringPart> run() {
    while (at_ < body_.size()) {
      const std::size_t brace = std::min(body_.find_first_of("{}", at_), body_.size());
      const bool doubled = brace + 1 < body_.size() && body_[brace + 1] == body_[brace];
      add_text(at_, brace + (doubled ? 1 : 0));
      at_ = brace + (doubled ? 2 : 0);
      if (!doubled && at_ < body_.size()) add_name();
    }
    return std::move(parts_);
  }

 private:
  void add_text(std::size_t from, std::size_t to) {
    const std::string_view text = body_.substr(from, to - from);
    const std::size_t last = text.find_last_not_of('\\');
    const std::size_t backslashes = text.size() - (last == text.npos ? 0 : last + 1);
    if (!raw_ && backslashes % 2 == 1) {  // of '\{' or '\N{...}'
      source_.fail({begin_ + to - 1, begin_ + to},
                   {"this escape is not read", "write {{ for a brace"});
    }
    parts_.push_back(
        {raw_ ? std::string(text) : Unescaper(source_, begin_ + from, text).run(), std::nullopt});
  }

  void add_name() {
    const std::size_t end = body_.find('}', at_);
    const bool closed = body_[at_] == '{' && end != body_.npos;
    const std::size_t length = closed ? end - at_ - 1 : 0;
    if (!is_name(body_.substr(at_ + 1, length))) {
      source_.fail({begin_ + at_, begin_ + (closed ? end + 1 : at_ + 1)},
                   {"an f-string in a config holds names only, as in f'run-{batch_size}'",
                    "compute the value under a name first"});
    }
    parts_.push_back({"", Extent{begin_ + at_ + 1, begin_ + end}});
    at_ = end + 1;
  }

  const SourceFile& source_;
  std::size_t begin_;
  std::string_view body_;
  bool raw_;
  std::size_t at_ = 0;
  std::vector<StringPart> parts_;
};

}  // namespace

Value decode_number(const SourceFile& source, const Token& token) {
  std::string_view text = source.slice(token.extent);
  const int base = base_of(text);
  const bool real = base == 10 && text.find_first_of(".eE") != text.npos;
  if (base != 10) text.remove_prefix(2);
  const auto digits = without_underscores(text, base, base != 10);
  if (!digits || digits->empty()) fail_number(source, token, false);
  if (real) return parse_all<double>(source, token, *digits, std::chars_format::general);
  const bool zeros = digits->find_first_not_of('0') == std::string::npos;
  if (base == 10 && digits->front() == '0' && !zeros) fail_number(source, token, false);
  return parse_all<std::int64_t>(source, token, *digits, base);
}

std::vector<StringPart> decode_string(const SourceFile& source, const Token& token) {
  const std::string_view text = source.slice(token.extent);
  const std::size_t prefix = text.find_first_of("'\"");
  const std::string_view letters = text.substr(0, prefix);
  if (letters.find_first_of("bB") != letters.npos) {
    source.fail(token.extent, {"bytes are not read in a config", "write it without the b"});
  }
  const std::string_view quoted = text.substr(prefix);
  const std::size_t quotes =
      quoted.size() >= 6 && quoted[1] == quoted[0] && quoted[2] == quoted[0] ? 3 : 1;
  const std::string_view body = quoted.substr(quotes, quoted.size() - 2 * quotes);
  const std::size_t begin = token.extent.begin + prefix + quotes;
  const bool raw = letters.find_first_of("rR") != letters.npos;
  if (letters.find_first_of("fF") != letters.npos) {
    return FormatString(source, begin, body, raw).run();
  }
  return {{raw ? std::string(body) : Unescaper(source, begin, body).run(), std::nullopt}};
}

}  // namespace snug::config::python
