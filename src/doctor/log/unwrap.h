// Wrapped text as one line.
#pragma once

#include <string>
#include <string_view>

namespace snug {

// Joins the lines of `text`. Some wrap between words, some in the middle of one: two ends that make
// a word or a number of the known messages are joined bare, all others with a blank.
std::string unwrapped(std::string_view text);

}  // namespace snug
