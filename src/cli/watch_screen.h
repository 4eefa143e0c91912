// What `snug watch` shows of its samples: lines for a terminal, redrawn in place, or one plain
// line per sample. Composes only; the command writes.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "cli/device_snapshot.h"
#include "cli/sparkline.h"

namespace snug::cli {

// Memory in use over the last samples, of each card and of the machine.
class WatchHistory {
 public:
  void add(const DeviceSnapshot& snapshot);
  const std::vector<MemorySample>& card(int index) const;
  const std::vector<MemorySample>& ram() const { return ram_; }

 private:
  std::size_t count_ = 0;
  std::map<int, std::vector<MemorySample>> cards_;
  std::vector<MemorySample> ram_;
};

struct ScreenSize {
  std::size_t columns = 80, rows = 24;
  bool operator==(const ScreenSize&) const = default;
};

// One line per entry, at most so wide and so many that a terminal neither wraps nor scrolls.
std::vector<std::string> watch_lines(const DeviceSnapshot& snapshot, const WatchHistory& history,
                                     const std::string& title, ScreenSize size);

// "2026-01-31 12:00:00  card 0 3.10 GiB of 11.63 GiB, 97% busy  RAM 5.20 GiB of 15.63 GiB".
std::string watch_plain_line(const DeviceSnapshot& snapshot, const std::string& time);

// Writes lines over those it wrote before. Between two drawings the cursor stands at the start of
// the line below them, so that the program may end at any time.
class Redraw {
 public:
  // The bytes that draw `lines` on a terminal that has this size now.
  std::string draw(const std::vector<std::string>& lines, ScreenSize size);

 private:
  std::vector<std::size_t> widths_;  // of the lines that are on the screen
};

}  // namespace snug::cli
