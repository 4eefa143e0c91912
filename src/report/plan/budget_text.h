// A budget in words: where it comes from, and what of the memory is for others.
#pragma once

#include <string>

#include "fit/budget.h"

namespace snug {

// "memory_budget", "GeForce RTX 3060", "available now (limited by the machine)"
std::string budget_origin(const Budget& budget);

// "11.63 GiB less 0.50 for a display, ..." and the headroom, a line each; or nothing.
std::string budget_parts(const Budget& budget);

}  // namespace snug
