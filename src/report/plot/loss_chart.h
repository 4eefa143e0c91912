// The losses of runs over each other, as one drawing (SVG) that needs no script.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "metrics/run_history.h"

namespace snug::report {

// At most `limit` points, each the mean of neighbours, ends included.
std::vector<metrics::Point> thinned(std::span<const metrics::Point> points, std::size_t limit);

// The colour of run number `index`.
const char* run_color(std::size_t index);

// A whole SVG document. `runs` is not empty.
std::string loss_chart(std::span<const metrics::RunHistory> runs);

}  // namespace snug::report
