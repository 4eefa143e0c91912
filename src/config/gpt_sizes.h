// The sizes and switches of a GPT under nanoGPT's names: written once, part of whatever describes
// such a model (Config, ModelSpec, the doctor's TorchRun).
#pragma once

#include <cstdint>
#include <string>

namespace snug::config {

constexpr std::int64_t kGpt2Vocabulary = 50257;  // GPT-2's tokens
// Rows of GPT-2's embedding as nanoGPT pads it, to a multiple of 64.
constexpr std::int64_t kPaddedGpt2Vocabulary = 50304;

// Defaults are nanoGPT's, GPT-2 124M.
struct GptSizes {
  std::int64_t n_layer = 12;
  std::int64_t n_head = 12;
  std::int64_t n_embd = 768;
  std::int64_t block_size = 1024;
  std::int64_t vocab_size = 0;  // 0: not known yet; in a config, what the data has
  bool bias = false;
  double dropout = 0;
  std::string gelu = "erf";  // or "tanh", see base/gelu_form.h

  bool operator==(const GptSizes&) const = default;
};

}  // namespace snug::config
