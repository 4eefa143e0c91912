// Reads one failure message: from the text where a phrase was found to a LogEvent with its amounts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "doctor/log/summary.h"

namespace snug::doctor::log {

struct MessageText {
  LogEventKind kind = LogEventKind::kOtherError;
  // The lines of the message and some after it, parted by '\n'.
  std::string_view text;
  // After the phrase that gave the kind. Amounts are taken from the start of the text to where the
  // message ends: where an amount comes twice or none for a while.
  std::size_t phrase_end = 0;
};

// Fills the message's own fields (all but line, rank, frames and a shape from the traceback).
// Amounts need not be complete or in order: each is known by the words beside it.
LogEvent read_message(const MessageText& message);

// A line without indentation and without an editor's line number.
std::string_view content_of(std::string_view line);

// The exception class when the line is the last of a Python traceback, "torch.OutOfMemoryError:
// ...".
std::string_view exception_name(std::string_view line);

// Joins the lines of `text`. Some wrap between words, some in the middle of one: two ends that make
// a word or a number of the known messages are joined bare, all others with a blank.
std::string unwrapped(std::string_view text);

}  // namespace snug::doctor::log
