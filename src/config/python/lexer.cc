#include "config/python/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace snug::config::python {
namespace {

// Longest first, so that the first match is the right one.
constexpr std::string_view kOperators[] = {
    "**=", "//=", ">>=", "<<=", "...", "**", "//", ">>", "<<", "<=", ">=", "==",
    "!=",  "->",  "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "@=", ":=",
    "+",   "-",   "*",   "/",   "%",   "@",  "&",  "|",  "^",  "~",  "<",  ">",
    "(",   ")",   "[",   "]",   "{",   "}",  ",",  ":",  ".",  ";",  "="};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_letter(c) || is_digit(c); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }
bool is_quote(char c) { return c == '\'' || c == '"'; }

class Lexer {
 public:
  explicit Lexer(const SourceFile& source) : source_(source), text_(source.text()) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) step();
    if (!open_.empty()) {
      source_.fail({open_.back(), open_.back() + 1},
                   {fmt::format("`{}` is never closed", text_[open_.back()]),
                    fmt::format("add the missing `{}`", partner(text_[open_.back()]))});
    }
    end_line(text_.size());
    add(Token::Kind::kEnd, text_.size());
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void add(Token::Kind kind, std::size_t begin) {
    tokens_.push_back({kind, {begin, std::max(begin, at_)}});
  }

  // Blank lines give no token.
  void end_line(std::size_t begin) {
    if (!tokens_.empty() && tokens_.back().kind != Token::Kind::kNewline) {
      add(Token::Kind::kNewline, begin);
    }
  }

  bool at_line_start() const {
    return open_.empty() && !continued_ &&
           (tokens_.empty() || tokens_.back().kind == Token::Kind::kNewline);
  }

  void step() {
    const char c = peek();
    if (c == '\n') {
      ++at_;
      if (open_.empty()) end_line(at_ - 1);
      continued_ = false;
    } else if (is_blank(c)) {
      skip_blanks();
    } else if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '\\') {
      continue_line();
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      scan_number();
    } else if (is_letter(c)) {
      scan_word();
    } else if (is_quote(c)) {
      scan_string(at_);
    } else {
      scan_operator();
    }
  }

  void skip_blanks() {
    const std::size_t begin = at_;
    const bool leading = at_line_start() && (begin == 0 || text_[begin - 1] == '\n');
    while (is_blank(peek())) ++at_;
    const bool empty_line = at_ == text_.size() || peek() == '\n' || peek() == '#';
    if (leading && !empty_line && peek() != '\\') add(Token::Kind::kIndent, begin);
  }

  void continue_line() {
    if (peek(1) != '\n') {
      source_.fail({at_, at_ + 1}, {"unexpected `\\`",
                                    "a backslash continues a line only as its "
                                    "very last character"});
    }
    at_ += 2;
    continued_ = true;
  }

  void scan_number() {
    const std::size_t begin = at_;
    const bool hex = peek() == '0' && (peek(1) == 'x' || peek(1) == 'X');
    while (is_word(peek()) || peek() == '.') {
      const bool exponent = !hex && (peek() == 'e' || peek() == 'E');
      ++at_;
      if (exponent && (peek() == '+' || peek() == '-') && is_digit(peek(1))) ++at_;
    }
    add(Token::Kind::kNumber, begin);
  }

  void scan_word() {
    const std::size_t begin = at_;
    while (is_word(peek())) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    const bool prefix = word.size() <= 2 && word.find_first_not_of("rRbBuUfF") == word.npos;
    if (prefix && is_quote(peek())) return scan_string(begin);
    add(Token::Kind::kName, begin);
  }

  // at_ is on the opening quote; begin is before it if there is a prefix.
  void scan_string(std::size_t begin) {
    const char quote = peek();
    const bool triple = peek(1) == quote && peek(2) == quote;
    at_ += triple ? 3 : 1;
    while (at_ < text_.size()) {
      if (peek() == '\\') {
        at_ = std::min(at_ + 2, text_.size());
      } else if (peek() == '\n' && !triple) {
        break;
      } else if (peek() == quote && (!triple || (peek(1) == quote && peek(2) == quote))) {
        at_ += triple ? 3 : 1;
        return add(Token::Kind::kString, begin);
      } else {
        ++at_;
      }
    }
    source_.fail({begin, at_}, {"the string is never closed",
                                fmt::format("end it with {}", std::string(triple ? 3 : 1, quote))});
  }

  static char partner(char bracket) {
    constexpr std::string_view kOpen = "([{", kClose = ")]}";
    const std::size_t at = kOpen.find(bracket);
    return at == kOpen.npos ? kOpen[kClose.find(bracket)] : kClose[at];
  }

  void scan_operator() {
    const std::size_t begin = at_;
    const auto match =
        std::find_if(std::begin(kOperators), std::end(kOperators),
                     [&](std::string_view op) { return text_.substr(at_).starts_with(op); });
    if (match == std::end(kOperators)) fail_character();
    at_ += match->size();
    const char bracket = text_[begin];
    if (std::string_view("([{").find(bracket) != std::string_view::npos) open_.push_back(begin);
    if (std::string_view(")]}").find(bracket) != std::string_view::npos) close(begin, bracket);
    add(Token::Kind::kOperator, begin);
  }

  void close(std::size_t begin, char bracket) {
    if (open_.empty() || text_[open_.back()] != partner(bracket)) {
      source_.fail({begin, begin + 1},
                   {fmt::format("`{}` has no matching `{}`", bracket, partner(bracket)),
                    "take it out, or open it before"});
    }
    open_.pop_back();
  }

  [[noreturn]] void fail_character() const {
    std::size_t end = at_ + 1;
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0) == 0x80) ++end;
    const auto byte = static_cast<unsigned char>(peek());
    const bool odd = byte < 0x20 || byte >= 0x7F;
    source_.fail(
        {at_, end},
        {odd ? "this character is not read outside strings and comments"
             : fmt::format("`{}` is not read in a config", peek()),
         odd ? "retype it: quotes, spaces and signs copied from a page are often look-alikes"
             : "take it out"});
  }

  const SourceFile& source_;
  std::string_view text_;
  std::size_t at_ = 0;
  bool continued_ = false;
  std::vector<std::size_t> open_;  // offsets of the brackets that are open
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(const SourceFile& source) { return Lexer(source).run(); }

}  // namespace snug::config::python
