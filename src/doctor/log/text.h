// The few operations on text that all parts of the log reader share. ASCII only, never the
// locale's.
#pragma once

#include <algorithm>
#include <string_view>

namespace snug::doctor::log {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_word(char c) { return is_digit(c) || is_letter(c) || c == '_'; }
constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }

inline bool is_blank(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return is_blank(c); });
}
inline bool is_indented(std::string_view text) { return !text.empty() && is_blank(text.front()); }

inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Removes `words` from the front if they are there.
inline bool take(std::string_view& text, std::string_view words) {
  if (!text.starts_with(words)) return false;
  text.remove_prefix(words.size());
  return true;
}

// The length of the run at the front for which `belongs` holds.
template <typename Belongs>
std::size_t run_length(std::string_view text, const Belongs& belongs) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), belongs) -
                                  text.begin());
}

}  // namespace snug::doctor::log
