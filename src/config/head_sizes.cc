#include "config/head_sizes.h"

#include <algorithm>
#include <cstdlib>

namespace snug::config {
namespace {

std::int64_t nearest_multiple(std::int64_t wish, std::int64_t unit) {
  return std::max<std::int64_t>(1, (wish + unit / 2) / unit) * unit;
}

}  // namespace

std::int64_t nearest_divisor(std::int64_t whole, std::int64_t wish) {
  std::int64_t best = 1;
  for (std::int64_t d = 2; d <= std::min(whole, 2 * wish); ++d) {
    if (whole % d == 0 && std::abs(d - wish) < std::abs(best - wish)) best = d;
  }
  return best;
}

std::int64_t nearest_width(std::int64_t width, std::int64_t heads) {
  constexpr std::int64_t kHeadUnit = 8;
  const std::int64_t usual = nearest_multiple(width, kHeadUnit * heads);
  return std::abs(usual - width) <= width / 4 ? usual : nearest_multiple(width, heads);
}

}  // namespace snug::config
