// Colours that this program writes itself. Names of others may hold the same bytes; so that
// console/output_filter.h can tell them apart, ours carry a number that nobody else knows.
#pragma once

#include <string>
#include <string_view>

namespace snug {

// Draws the number. Called once, before any text is made and where a filter takes it off again;
// without it the codes are plain.
void mark_own_colours();

// "" before mark_own_colours(), then ";" and digits.
const std::string& own_colour_mark();

// `text` in the colour `code` ("1;31"), and back.
std::string in_colour(std::string_view code, std::string_view text);

}  // namespace snug
