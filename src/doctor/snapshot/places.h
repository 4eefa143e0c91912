// Where an allocation was made, read from its Python frames: the operator that PyTorch's own files
// show, and the innermost lines of the user's.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "doctor/snapshot/snapshot.h"

namespace snug::doctor::snapshot {

enum class Operator : std::uint8_t {
  kUnrecorded,  // no frames
  kDirect,      // called by the user's code itself
  kLinear,
  kLayerNorm,
  kEmbedding,
  kActivation,  // GELU and the like
  kDropout,
  kSoftmax,
  kCrossEntropy,
  kMove,       // Module.to(), or a module that is made on the card
  kLoad,       // torch.load()
  kOptimizer,  // torch.optim: its state
  kStep,       // and what a step computes with
  kClip,       // clip_grad_norm_
  kDdp,
  kBackward,  // frames of a backward pass
  kOther,     // of PyTorch
};

constexpr std::uint32_t kNoFrame = ~std::uint32_t{0};

struct Place {
  Operator op = Operator::kUnrecorded;
  std::uint32_t frame = kNoFrame;  // the innermost of the user's own
  // The lines of forward() in that frame's file, outermost first: GPT, Block, MLP.
  std::vector<std::int64_t> lines;
  bool in_forward = false;
  bool evaluates = false;    // below estimate_loss()
  bool recomputes = false;   // torch.utils.checkpoint, in the backward pass
  bool compiled = false;     // by a graph of inductor
  bool takes_batch = false;  // in get_batch()
};

// By stack.
std::vector<Place> places_of(const Snapshot& snapshot);

// "model.py" of a path.
std::string_view file_name(std::string_view path);

}  // namespace snug::doctor::snapshot
