#include "cli/sparkline.h"

#include <algorithm>
#include <iterator>

namespace snug::cli {

std::string sparkline(std::span<const MemorySample> samples, std::int64_t full, std::size_t width) {
  static constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr auto kTop = static_cast<int>(std::size(kBlocks)) - 1;
  std::string line;
  for (const MemorySample& sample : samples.last(std::min(width, samples.size()))) {
    if (!sample || full <= 0) {
      line += ' ';
      continue;
    }
    const double share =
        std::clamp(static_cast<double>(*sample) / static_cast<double>(full), 0.0, 1.0);
    line += kBlocks[std::min(static_cast<int>(share * (kTop + 1)), kTop)];
  }
  return line;
}

}  // namespace snug::cli
