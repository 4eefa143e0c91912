// A message copied out of a web page: its tags and character references as plain text.
#pragma once

#include <string>
#include <string_view>

namespace snug::doctor::log {

// Does it hold a tag or a character reference that pages wrap messages in? Python's "<module>" is
// none.
bool has_markup(std::string_view line);

std::string without_markup(std::string_view line);

}  // namespace snug::doctor::log
