// The page of `snug plot`: the drawing, and a table of the runs. One file that needs no other.
#pragma once

#include <span>
#include <string>

#include "metrics/run_history.h"

namespace snug::report {

std::string plot_page(std::span<const metrics::RunHistory> runs);

}  // namespace snug::report
