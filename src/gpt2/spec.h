// GPT-2 as nanoGPT builds it: its parameters under nanoGPT's names, in nanoGPT's order.
#pragma once

#include "model/model_spec.h"

namespace snug {

// lm_head is tied to wte and not listed.
ModelSpec make_model_spec(const GptSizes& sizes);
// The same with a vocabulary of `vocab_size`, whatever `sizes` says.
ModelSpec make_model_spec(GptSizes sizes, std::int64_t vocab_size);

}  // namespace snug
