// The one line that is redrawn while a run trains, cut to what the terminal has room for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace snug::console {

struct ProgressFacts {
  std::int64_t iteration = 0, last_iteration = 0;
  double done_share = 0;          // of the whole run, 0 to 1
  double loss = 0, val_loss = 0;  // NaN: not known yet
  std::string val_note;           // shown after val_loss
  double tokens_per_second = 0;
  std::int64_t resident_bytes = 0, planned_bytes = 0;
  double seconds_left = 0;
};

// At most `columns` wide if that holds the iteration, loss, tokens/s and ETA; memory, the
// validation loss and the bar, in this order, are there if they fit.
std::string progress_line(const ProgressFacts& facts, std::size_t columns);

}  // namespace snug::console
