// Initial weights, drawn as nanoGPT draws them in distribution, from the counter-based generator: a
// weight depends on the seed, its parameter and its index in that only.
#pragma once

#include <cstdint>
#include <span>

#include "model/model_spec.h"

namespace snug::train {

// The elements of a parameter from `first` on, a multiple of 4.
void initialize_parameter(const model::ParameterSpec& parameter, std::uint64_t seed,
                          std::int64_t parameter_index, std::int64_t first,
                          std::span<float> values);

}  // namespace snug::train
