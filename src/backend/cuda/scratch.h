// How much scratch each op takes on a card: what the plan books and what the kernels keep to. No
// card is needed to ask.
#pragma once

#include "backend/cuda/limits.h"
#include "program/program.h"

namespace snug::cuda {

// Bytes; 0 for ops that need none.
std::int64_t scratch_of(const ops::Op& op, const ops::Shapes& shapes);

}  // namespace snug::cuda
