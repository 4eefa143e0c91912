// config.json of a Hugging Face GPT-2 folder: the model's sizes, and whether Snug computes what it
// asks for. Text in, text out.
#pragma once

#include <string>
#include <string_view>

#include "config/gpt_sizes.h"

namespace snug::formats::huggingface {

struct ModelConfig {
  config::GptSizes sizes;
  // False: the model has no biases, and those in the file are zeros that the format asks for. Only
  // Snug writes that; without it biases are as the file has them.
  bool has_bias = true;
  bool is_tied = true;  // the output layer is the token embedding
};

// What to do with a model whose weights are not floating-point numbers.
constexpr const char* kHowToDequantize =
    "float32, float16, bfloat16 and float64 are read: take the model that it was made from, or "
    "write it so where it can be loaded: from_pretrained(...).dequantize().save_pretrained(...)";

// Throws DataError, by key, for another kind of model or a variant that Snug does not compute.
ModelConfig parse_model_config(std::string_view text, const std::string& file);

// `end_of_text` < 0: the vocabulary has none.
std::string make_model_config(const config::GptSizes& sizes, std::int64_t end_of_text);
std::string make_generation_config(std::int64_t end_of_text);

}  // namespace snug::formats::huggingface
