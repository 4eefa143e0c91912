// What the end of a run says: how long it took, how good it got, where it lies and what to do next.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace snug::train {

struct RunEnd {
  double seconds = 0;
  std::int64_t iterations = 0;  // of this run, not of those that it went on from
  double last_loss = 0;         // NaN: none
  double best_val_loss = 0;     // infinite: not evaluated
  std::int64_t iteration = 0, saved_iteration = -1;
  std::string folder;  // of the newest checkpoint; "": this run saved none
  std::string out_dir;
};

std::vector<std::string> end_lines(const RunEnd& end);

}  // namespace snug::train
