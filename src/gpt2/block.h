// The ops of one GPT-2 block, forward and backward. Recomputation is nothing but emitting the
// forward a second time inside backward: liveness does the rest.
#pragma once

#include "program/network.h"

namespace snug::gpt2 {

// What backward needs of a block's forward: 10 BTC elements where PyTorch eager keeps 16. The last
// three, 6 BTC more, are kept only if asked for; else they are recomputed by elementwise work.
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
  // Emits into the builder's current phase. `keep_all`: see Pass::forward.
  BlockEmitter(program::ProgramBuilder& builder, std::int64_t layer, program::PassMode mode,
               const program::LayerCache& cache, bool keep_all);

  // The whole block; the result is the stream after it.
  TensorId forward(TensorId input, SavedBlock* saved);
  // As much of the forward as backward needs, from the block's input.
  SavedBlock recompute(TensorId input);
  // Turns the gradient after the block into the one before it, in place, adding up the block's
  // parameter gradients on the way.
  void backward(const SavedBlock& saved, TensorId dstream);

 private:
  // Where in a block dropout is applied.
  enum Site : std::uint32_t { kAttentionSite = 0, kProjectionSite = 1, kMlpSite = 2 };

  TensorId make(const std::string& name, std::int64_t width);
  TensorId make_stat(const std::string& name);
  TensorId weight(const std::string& name) const { return builder_.weight(prefix_ + name); }
  TensorId gradient(const std::string& name) const { return builder_.gradient(prefix_ + name); }
  void emit(const std::string& label, ops::AnyOp op) {
    builder_.emit(prefix_ + label, std::move(op));
  }
  std::uint32_t site(Site site) const;
  GeluForm gelu() const { return gelu_form_named(builder_.model().gelu); }
  bool training() const { return mode_ == program::PassMode::kTraining; }

  TensorId norm(const std::string& name, TensorId x, TensorId* mean, TensorId* rstd);
  TensorId linear(const std::string& name, TensorId x, std::int64_t width,
                  const std::string& out_name);
  TensorId attention(TensorId qkv, TensorId* lse);
  TensorId decode_attention(TensorId qkv, TensorId out);
  TensorId residual(const std::string& name, TensorId stream, TensorId branch, Site where);

  void forward_to_fc(SavedBlock& s);
  TensorId recompute_norm(const std::string& name, TensorId x, TensorId mean, TensorId rstd);
  TensorId recompute_gelu(TensorId fc);
  TensorId branch_gradient(TensorId dstream, Site where);
  void linear_dw(const std::string& name, TensorId dy, TensorId x);
  TensorId linear_dx(const std::string& name, TensorId dy, std::int64_t width,
                     const std::string& out_name);
  void norm_backward(const std::string& name, TensorId dy, TensorId x, TensorId mean, TensorId rstd,
                     TensorId dstream);
  TensorId attention_backward(const SavedBlock& s, TensorId dattended);

  program::ProgramBuilder& builder_;
  std::string prefix_;  // "h.3."
  std::int64_t layer_, B_, T_, C_;
  program::PassMode mode_;
  program::LayerCache cache_;
  bool keep_all_;
};

// The dropout site of a place in a layer, or 0 where the model has none.
std::uint32_t dropout_site(const model::ModelSpec& model, std::int64_t layer, std::uint32_t place);

}  // namespace snug::gpt2
