// The amounts of a message, known by the words before or after them.
#pragma once

#include <cstddef>
#include <string_view>

#include "doctor/log/summary.h"

namespace snug::doctor::log {

// Reads the amounts of the folded message `text` into the event, the device index and the pids too.
// `from` is where to start and `phrase_end` where the message was recognised. Returns the position
// after the last thing read (at least phrase_end).
std::size_t read_fields(std::string_view text, std::size_t from, std::size_t phrase_end,
                        LogEvent& event);

}  // namespace snug::doctor::log
