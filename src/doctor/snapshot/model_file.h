// Which line of the model's file is which part of a GPT: learnt from how the calls nest, not from
// line numbers, so that an edited nanoGPT is read like the original.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "doctor/snapshot/places.h"

namespace snug::doctor::snapshot {

enum class Part : std::uint8_t {
  kNone,  // not of the model's forward pass, or not known
  kTop,   // GPT.forward itself
  kFinalNorm,
  kHead,
  kLoss,
  kAttentionSum,  // Block.forward itself: the residual stream
  kNorm1,
  kAttentionIn,
  kAttention,  // between the two products
  kAttentionOut,
  kNorm2,
  kMlpIn,
  kMlpMiddle,
  kMlpOut,
  kMlpSum,
  kEmbedding,
};

struct ModelFile {
  bool is_gpt = false;                            // embeddings, blocks of attention and MLP, a head
  std::int64_t block_line = 0;                    // GPT.forward calls the blocks
  std::int64_t attention_line = 0, mlp_line = 0;  // Block.forward
  std::int64_t attention_in = 0, attention_out = 0;  // products
  std::int64_t mlp_in = 0, mlp_out = 0;
};

ModelFile learn_model_file(const std::vector<Place>& places);

Part part_of(const ModelFile& model, const Place& place);
// Of Block.forward: 1 attention, 2 MLP; 0: not of a block.
int branch_of(const ModelFile& model, const Place& place);
bool is_of_block(Part part);

}  // namespace snug::doctor::snapshot
