// The word that was probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace snug::config {

// Insertions, deletions, substitutions and swaps of neighbours that turn a into b; case, '_' and
// '-' do not count.
int edit_distance(std::string_view a, std::string_view b);

// The candidate with the minimum distance within max_distance (the first of equals); a candidate
// that starts with the whole word counts as one edit away. Empty: nothing is near.
std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates,
                         int max_distance);

// How far a typing error may be: for a suggestion, and for calling a name a mistyped key.
int suggestion_reach(std::string_view word);
int typo_reach(std::string_view word);

}  // namespace snug::config
