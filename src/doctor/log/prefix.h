// Takes off what terminals, launchers, editors and mailers put around a line: "[rank0]:", "0: ",
// "(Worker pid=12) ERROR 07-29 21:48:54 [worker.py:96]", timestamps, "> ", box borders, line
// numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "doctor/log/lines.h"

namespace snug::doctor::log {

struct LogLine {
  std::string_view text;  // within the RawLine; indentation of the content is kept
  std::int64_t number = 0;
  std::optional<int> rank;    // from "[rank0]:" and its like
  bool is_continued = false;  // a further piece of an overlong line
  bool has_border = false;    // it stood between "|" or box characters
  bool has_marker = false;    // rich's or IPython's arrow at the failing line of source
  std::int64_t gutter = 0;    // the line number that stood before the text; 0 when none
  bool is_source = false;     // source text that a framed traceback shows around a frame
};

class PrefixStripper {
 public:
  LogLine strip(const RawLine& raw);

 private:
  // A bare number at the start may be part of a wrapped message. It is a line number when the line
  // before began with the number before it.
  std::int64_t last_number_ = -1;
};

}  // namespace snug::doctor::log
