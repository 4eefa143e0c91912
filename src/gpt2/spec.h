// GPT-2 as nanoGPT builds it: its parameters under nanoGPT's names, in nanoGPT's order.
#pragma once

#include "model/model_spec.h"

namespace snug::gpt2 {

// lm_head is tied to wte and not listed.
model::ModelSpec make_model_spec(const config::GptSizes& sizes);
// The same with a vocabulary of `vocab_size`, whatever `sizes` says.
model::ModelSpec make_model_spec(config::GptSizes sizes, std::int64_t vocab_size);

}  // namespace snug::gpt2
