// What a kernel needs to draw a dropout mask, from a step's numbers: the same on every device, so that
// the masks are.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "backend/backend.h"

namespace snug::backend {

// `Dropout` is the struct that the backend's kernels take; as it is made, it drops nothing. Site 0:
// a place without dropout.
template <class Dropout>
Dropout dropout_draw(const StepContext& context, std::uint32_t site) {
  Dropout d;
  if (site == 0 || context.dropout <= 0) return d;
  d.seed = context.seed;
  d.site = site;
  d.iteration = static_cast<std::uint32_t>(context.iteration);
  d.first_sequence = static_cast<std::uint32_t>(context.first_sequence);
  d.threshold = static_cast<std::uint32_t>(
      std::min(std::ldexp(context.dropout, 32), std::ldexp(1.0, 32) - 1));
  d.scale = static_cast<float>(1.0 / (1.0 - context.dropout));
  return d;
}

}  // namespace snug::backend
