// The program of text generation: a prefill over a window of positions and a decode step with a
// key/value cache.
#pragma once

#include "model/model_spec.h"
#include "program/target.h"

namespace snug::program {

// `window` positions are kept, at most the model's block_size.
Program build_sampling_program(const model::ModelSpec& model, std::int64_t window, DType compute,
                               const Target& target);

}  // namespace snug::program
