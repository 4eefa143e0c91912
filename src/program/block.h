// The ops of one transformer block, forward and backward. Recomputation is nothing but emitting the
// forward again inside backward: liveness does the rest.
#pragma once

#include "program/builder.h"

namespace snug {

// What backward needs of a block's forward: 10 BTC elements where PyTorch eager keeps 16. The last
// three, 6 BTC more, are kept only if asked for; else they are made again by elementwise work.
struct SavedBlock {
  TensorId input = kNoTensor;     // (B, T, C), ln_1's input
  TensorId mean1 = kNoTensor;     // (B, T)
  TensorId rstd1 = kNoTensor;     // (B, T)
  TensorId qkv = kNoTensor;       // (B, T, 3C)
  TensorId attended = kNoTensor;  // (B, T, C), attn.c_proj's input
  TensorId lse = kNoTensor;       // (B, H, T)
  TensorId middle = kNoTensor;    // (B, T, C), ln_2's input
  TensorId mean2 = kNoTensor;
  TensorId rstd2 = kNoTensor;
  TensorId fc = kNoTensor;         // (B, T, 4C), GELU's input
  TensorId normed1 = kNoTensor;    // (B, T, C), attn.c_attn's input
  TensorId normed2 = kNoTensor;    // (B, T, C), mlp.c_fc's input
  TensorId activated = kNoTensor;  // (B, T, 4C), mlp.c_proj's input
};

class BlockEmitter {
 public:
  enum class Mode {
    kTraining,   // statistics are kept, dropout is on
    kInference,  // the residual stream is updated in place
    kPrefill,    // as inference, and keys and values go into the cache
    kDecode,     // one position, attending to the cache
  };

  // Emits into the builder's current phase.
  BlockEmitter(ProgramBuilder& builder, std::int64_t layer, Mode mode);

  // Backward finds norm outputs and GELU as forward left them, instead of making them again.
  void keep_all(bool keep) { keep_all_ = keep; }
  void set_cache(TensorId keys, TensorId values) { keys_ = keys, values_ = values; }

  // The whole block; the result is the stream behind it.
  TensorId forward(TensorId input, SavedBlock* saved);
  // As much of the forward as backward needs, from the block's input.
  SavedBlock recompute(TensorId input);
  // Turns the gradient behind the block into the one before it, in place, adding up the block's
  // parameter gradients on the way.
  void backward(const SavedBlock& saved, TensorId dstream);

 private:
  enum Place : std::uint32_t { kAttentionPlace = 0, kProjectionPlace = 1, kMlpPlace = 2 };

  TensorId make(const char* name, std::int64_t width);
  TensorId make_stat(const char* name);
  std::string label(const std::string& what) const;
  std::uint32_t site(Place place) const;
  bool training() const { return mode_ == Mode::kTraining; }

  TensorId norm(const char* name, TensorId x, TensorId* mean, TensorId* rstd);
  TensorId linear(const char* name, TensorId x, std::int64_t width, const char* out_name);
  TensorId attention(TensorId qkv, TensorId* lse);
  TensorId residual(const char* name, TensorId stream, TensorId branch, Place place);

  void forward_to_fc(SavedBlock& s);
  TensorId norm_again(const char* name, TensorId x, TensorId mean, TensorId rstd);
  TensorId gelu_again(TensorId fc);
  TensorId branch_gradient(TensorId dstream, Place place);
  void linear_dw(const char* name, TensorId dy, TensorId x);
  TensorId linear_dx(const char* name, TensorId dy, std::int64_t width, const char* out_name);
  void norm_backward(const char* name, TensorId dy, TensorId x, TensorId mean, TensorId rstd,
                     TensorId dstream);

  ProgramBuilder& builder_;
  std::string prefix_;  // "h.3."
  std::int64_t layer_, B_, T_, C_;
  Mode mode_;
  bool keep_all_ = false;
  TensorId keys_ = kNoTensor, values_ = kNoTensor;
};

// The dropout site of a place in a layer, or 0 where the model has none.
std::uint32_t dropout_site(const ModelSpec& model, std::int64_t layer, std::uint32_t place);

}  // namespace snug
