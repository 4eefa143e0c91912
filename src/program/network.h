// Network: what a program needs of a model family. A family (gpt2/) has its parameters and emits
// its ops through this interface; phases, checkpointing, the loss head and the update are the
// program's and the same for all families.
#pragma once

#include <memory>

#include "program/builder.h"

namespace snug::program {

// What a pass over a phase's batch is for.
enum class PassMode {
  kTraining,   // what backward needs is kept, dropout is on
  kInference,  // the residual stream is updated in place
  kPrefill,    // as inference, and keys and values go into the cache
  kDecode,     // one position, attending to the cache
};

// One pass over the batch of the builder's current phase. Forward calls come first, layer by layer;
// then, in training, backward calls in reverse. A stream is (B, T, C) in the precision of the
// arithmetic.
class Pass {
 public:
  virtual ~Pass() = default;

  // Tokens to the stream before the first layer.
  virtual TensorId embed() = 0;
  // The stream after the layer. `keep_all`: backward finds every intermediate result as forward
  // left it; else cheap ones are made again.
  virtual TensorId forward(std::int64_t layer, TensorId stream, bool keep_all) = 0;
  // What the head multiplies with head_weight().
  virtual TensorId final_norm(TensorId stream) = 0;
  virtual TensorId head_weight() const = 0;           // (V, C)
  virtual TensorId head_weight_gradient() const = 0;  // (V, C) float32

  // The gradient of final_norm()'s argument, as a new tensor.
  virtual TensorId final_norm_backward(TensorId dnormed) = 0;
  // Turns the gradient after the layer into the one before it, in place, and adds up the layer's
  // parameter gradients. `recompute`: of forward only the layer's input was kept.
  virtual void backward(std::int64_t layer, TensorId dstream, bool recompute, bool keep_all) = 0;
  virtual void embed_backward(TensorId dstream, const ops::EmbedRows& rows) = 0;
};

// Keys and values of one layer, (window, cache_width) each.
struct LayerCache {
  TensorId keys = kNoTensor, values = kNoTensor;
};

class Network {
 public:
  virtual ~Network() = default;
  // `caches`, one per layer, for kPrefill and kDecode; they and the builder outlive the pass.
  virtual std::unique_ptr<Pass> begin(ProgramBuilder& builder, PassMode mode,
                                      std::span<const LayerCache> caches = {}) const = 0;
  virtual std::int64_t cache_width(const model::ModelSpec& model) const = 0;
  // The parameter that embed_backward() keeps a table of rows for: its short name, (V, C).
  virtual std::string_view token_embedding() const = 0;
};

}  // namespace snug::program
