// Sizes of common language models, for guesses about a number without a config.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace snug::doctor::diagnosis {

// Tensors whose size such a model has.
enum class CommonTensor : std::uint8_t {
  kLogits,     // (batch, tokens, vocabulary)
  kAttention,  // (batch, heads, tokens, tokens)
  kMlp,        // (batch, tokens, width)
  kEmbedding,  // (vocabulary, width)
  kMlpWeight,  // (width, width)
};

struct CommonSize {
  std::string_view model;
  std::int64_t size;
  double prior;         // how often people train it and fail; 1 for GPT-2
  std::int64_t tokens;  // of its usual sequence; 0: any
  bool is_old = false;  // there before 2023
};
struct CommonLength {
  std::int64_t tokens;
  double prior;
};
struct CommonModel {
  std::string_view name;
  std::int64_t vocabulary, width, hidden;  // of an MLP
  double prior;
  bool is_old = false;
};

// A GPT as nanoGPT's keys describe it.
struct CommonGpt {
  std::int64_t layers, heads, width;
  double prior;
};

std::span<const CommonGpt> common_gpts();
std::span<const CommonSize> common_vocabularies();
std::span<const CommonSize> common_head_counts();
std::span<const CommonSize> common_hidden_widths();
std::span<const CommonLength> common_lengths();
std::span<const CommonModel> common_models();

}  // namespace snug::doctor::diagnosis
