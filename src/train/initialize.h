// Initial weights, drawn as nanoGPT draws them in distribution, from the counter-based generator: a
// weight depends on the seed, its parameter and its place only.
#pragma once

#include <cstdint>

#include "base/tensor_view.h"
#include "model/model_spec.h"

namespace snug {

void initialize_parameter(const ParameterSpec& parameter, std::uint64_t seed,
                          std::int64_t parameter_index, const TensorView& view);

}  // namespace snug
