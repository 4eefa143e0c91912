#include "config/nearest.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace snug::config {
namespace {

// Longer words are no typing errors; the bound also bounds the work.
constexpr std::size_t kMaxLetters = 64;

std::string letters_of(std::string_view word) {
  std::string letters;
  for (const char c : word) {
    if (c == '_' || c == '-') continue;
    letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters;
}

}  // namespace

int edit_distance(std::string_view first, std::string_view second) {
  const std::string a = letters_of(first), b = letters_of(second);
  std::vector<int> before_last, last, row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int substitution = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates,
                         int max_distance) {
  std::string best;
  if (word.empty() || word.size() > kMaxLetters) return best;
  int best_distance = max_distance + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kMaxLetters) continue;
    int distance = edit_distance(word, candidate);
    if (word.size() >= 4 && candidate.starts_with(word)) distance = std::min(distance, 1);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

int suggestion_reach(std::string_view word) {
  return std::max(1, static_cast<int>(std::min(word.size(), kMaxLetters)) / 3);
}

int typo_reach(std::string_view word) { return word.size() < 4 ? 0 : word.size() < 7 ? 1 : 2; }

}  // namespace snug::config
