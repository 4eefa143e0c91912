// The one place where text for people leaves the program. Names of files, keys, cards and data sets
// come from anyone and may hold escape sequences that make a terminal lie or obey; here every
// control character but line ends, tabs and the colours that Snug uses itself becomes visible text.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace snug::console {

// Text in pieces, cut anywhere; what a piece leaves unfinished waits for the next.
class OutputFilter {
 public:
  // What may be shown of `piece` and of what waited before it. Stays as it is: UTF-8 without
  // controls, '\n', '\t', and colours ("\033[...m") that base/own_colour.h has marked, which lose
  // the mark; unmarked ones too where it marks none. Becomes "\x1b" or "\u202e" in letters: other
  // control characters, C1 controls, marks that reverse the direction of text, and bytes that are
  // not UTF-8.
  std::string pass(std::string_view piece);
  // What still waits, at the end.
  std::string finish();

 private:
  std::string pending_;
};

// pass() and finish() of a whole text.
std::string shown(std::string_view text);

// Marks the program's own colours and puts filters before standard output and standard error for
// its rest. Call once, before anything is written.
void filter_standard_output();

// The caller vouches for what it writes: `text` goes to the file below `stream` as it is, after
// what was written before. For cursor control, and for bytes that are the product and not a
// message.
// False when it could not be written.
bool put_unfiltered(std::FILE* stream, std::string_view text);

}  // namespace snug::console
