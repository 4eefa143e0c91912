// A position in the tokens of a source, and what a parser asks about the tokens there.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "config/python/lexer.h"
#include "config/python/subset.h"

namespace snug::config::python {

class TokenCursor {
 public:
  TokenCursor(const SourceFile& source, std::vector<Token> tokens)
      : source_(source), tokens_(std::move(tokens)) {}

  const SourceFile& source() const { return source_; }

  // Returns the kEnd token past the end.
  const Token& peek(std::size_t ahead = 0) const {
    return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead] : tokens_.back();
  }
  std::string_view text(std::size_t ahead = 0) const { return source_.slice(peek(ahead).extent); }
  const Token& take() {
    const Token& token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }

  bool is_kind(Token::Kind kind, std::size_t ahead = 0) const { return peek(ahead).kind == kind; }
  // A word is a name or a keyword; a sign is an operator or bracket.
  bool is_word(std::string_view word, std::size_t ahead = 0) const {
    return is_kind(Token::Kind::kName, ahead) && text(ahead) == word;
  }
  bool is_sign(std::string_view sign, std::size_t ahead = 0) const {
    return is_kind(Token::Kind::kOperator, ahead) && text(ahead) == sign;
  }
  bool is_free_name(std::size_t ahead = 0) const {
    return is_kind(Token::Kind::kName, ahead) && !is_keyword(text(ahead));
  }
  bool take_sign(std::string_view sign) { return is_sign(sign) && (take(), true); }
  bool take_word(std::string_view word) { return is_word(word) && (take(), true); }

  // The end of the last token taken.
  std::size_t last_end() const { return at_ == 0 ? 0 : tokens_[at_ - 1].extent.end; }

  [[noreturn]] void fail(const Fault& fault) const { source_.fail(peek().extent, fault); }

  // The error for a token that is not allowed here.
  [[noreturn]] void fail_unexpected() const {
    if (is_kind(Token::Kind::kNewline) || is_kind(Token::Kind::kEnd)) {
      fail({"the line ends too early", "finish the value, as in key = value"});
    }
    const bool literal = is_kind(Token::Kind::kNumber) || is_kind(Token::Kind::kString);
    if (literal || is_free_name()) {
      fail({"a sign is missing before this", "one value stands after each ="});
    }
    fail(outside_subset(text()));
  }

 private:
  const SourceFile& source_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace snug::config::python
