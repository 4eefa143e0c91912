// The tokenizer that `snug sample` reads the prompt and writes the text with.
#pragma once

#include <memory>

#include "checkpoint/run_records.h"
#include "config/config.h"
#include "tokenizer/tokenizer.h"

namespace snug::train {

// The checkpoint's own, or the data set's where the checkpoint has none or --dataset asks for it:
// its meta.pkl's characters, or GPT-2's tokens where it has no meta.pkl. `config` has the model's
// vocab_size: a model may know more tokens than its tokenizer (a vocabulary rounded up), never
// fewer. Throws DataError when there is no tokenizer, or it does not belong to the model.
std::unique_ptr<tokenizer::Tokenizer> make_sample_tokenizer(
    const config::LoadedConfig& config, const checkpoint::TokenizerRecord& saved);

}  // namespace snug::train
