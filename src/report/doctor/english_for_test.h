// English words where there should be none, for the tests of the languages.
#pragma once

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>

namespace snug::report {

// The words in ASCII letters, in lower case, without what stands in quotes of a program's output,
// in backticks or beside an underscore, dot or equals sign or after two dashes, and paths as far as
// the next blank: names and code.
inline std::set<std::string> plain_words(std::string_view text) {
  std::set<std::string> words;
  std::string word;
  bool is_name = false, quoted = false, in_path = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ' ';
    if (c == '`') quoted = !quoted;
    if (c == '/') in_path = true;
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (c == '_' || c == '=' || c == '/' || (c == '-' && i > 0 && text[i - 1] == '-') ||
               (c == '.' && i + 1 < text.size() &&
                std::isalpha(static_cast<unsigned char>(text[i + 1])) != 0)) {
      is_name = true;
    } else if (in_path && (c == '-' || c == '.' || std::isdigit(static_cast<unsigned char>(c)))) {
      is_name = true;  // a folder's name may hold any word: x-of-y
    } else {
      if (!word.empty() && !is_name && !quoted) words.insert(word);
      word.clear();
      is_name = in_path = false;
    }
  }
  return words;
}

// PyTorch's own English words that a message quotes.
inline std::string without_quotations(std::string text) {
  for (const std::string_view quote :
       {"Not enough SMs to use max_autotune_gemm mode", "more than 1EB"}) {
    const std::size_t at = text.find(quote);
    if (at != std::string::npos) text.erase(at, quote.size());
  }
  return text;
}

inline bool has_english(const std::string& text) {
  static const std::set<std::string> kEnglish = {
      "the",    "is",     "and",   "of",     "to",       "with",   "for",    "from",  "this",
      "that",   "are",    "does",  "has",    "have",     "than",   "which",  "while", "its",
      "by",     "on",     "it",    "or",     "at",       "card",   "held",   "needs", "other",
      "no",     "be",     "after", "output", "input",    "scaled", "masked", "cast",  "copy",
      "weight", "padded", "mask",  "state",  "residual", "sums",   "hidden", "their", "contiguous"};
  const std::set<std::string> words = plain_words(without_quotations(text));
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return kEnglish.count(word) > 0; });
}

}  // namespace snug::report
