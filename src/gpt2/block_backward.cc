// The backward half of BlockEmitter. The order keeps the working set small: a wide recomputed input
// is used for its weight gradient and dies before the wide input gradient is made.
#include "gpt2/block.h"

namespace snug::gpt2 {

TensorId BlockEmitter::recompute_norm(const std::string& name, TensorId x, TensorId mean,
                                      TensorId rstd) {
  const TensorId y = make(name + ".out", C_);
  emit(name + " again", ops::LayerNormApply{.x = x,
                                            .gamma = weight(name + ".weight"),
                                            .beta = weight(name + ".bias"),
                                            .mean = mean,
                                            .rstd = rstd,
                                            .y = y});
  return y;
}

TensorId BlockEmitter::recompute_gelu(TensorId fc) {
  const TensorId activated = make("mlp.gelu", 4 * C_);
  emit("mlp.gelu again", ops::Gelu{.x = fc, .y = activated, .form = gelu()});
  return activated;
}

TensorId BlockEmitter::branch_gradient(TensorId dstream, Site where) {
  if (site(where) == 0) return dstream;
  const TensorId dbranch = make("dbranch", C_);
  emit("dropout backward",
       ops::DropoutBackward{.dout = dstream, .din = dbranch, .dropout_site = site(where)});
  return dbranch;
}

void BlockEmitter::linear_dw(const std::string& name, TensorId dy, TensorId x) {
  emit(name + " backward dW", ops::LinearDw{.dy = dy,
                                            .x = x,
                                            .dweight = gradient(name + ".weight"),
                                            .dbias = gradient(name + ".bias")});
}

TensorId BlockEmitter::linear_dx(const std::string& name, TensorId dy, std::int64_t width,
                                 const std::string& out_name) {
  const TensorId dx = make(out_name, width);
  emit(name + " backward dX",
       ops::LinearDx{.dy = dy, .weight = weight(name + ".weight"), .dx = dx});
  return dx;
}

void BlockEmitter::norm_backward(const std::string& name, TensorId dy, TensorId x, TensorId mean,
                                 TensorId rstd, TensorId dstream) {
  emit(name + " backward", ops::LayerNormBackward{.dy = dy,
                                                  .x = x,
                                                  .gamma = weight(name + ".weight"),
                                                  .mean = mean,
                                                  .rstd = rstd,
                                                  .dx = dstream,
                                                  .dgamma = gradient(name + ".weight"),
                                                  .dbeta = gradient(name + ".bias")});
}

TensorId BlockEmitter::attention_backward(const SavedBlock& s, TensorId dattended) {
  const TensorId dqkv = make("attn.dqkv", 3 * C_);
  emit("attn backward", ops::AttentionBackward{.qkv = s.qkv,
                                               .out = s.attended,
                                               .lse = s.lse,
                                               .dout = dattended,
                                               .dqkv = dqkv,
                                               .head_count = builder_.model().n_head,
                                               .dropout_site = site(kAttentionSite)});
  return dqkv;
}

void BlockEmitter::backward(const SavedBlock& s, TensorId dstream) {
  const TensorId dmlp = branch_gradient(dstream, kMlpSite);
  linear_dw("mlp.c_proj", dmlp, s.activated != kNoTensor ? s.activated : recompute_gelu(s.fc));
  const TensorId dfc = linear_dx("mlp.c_proj", dmlp, 4 * C_, "mlp.dfc");
  emit("mlp.gelu backward", ops::GeluBackward{.x = s.fc, .dy = dfc, .form = gelu()});
  linear_dw(
      "mlp.c_fc", dfc,
      s.normed2 != kNoTensor ? s.normed2 : recompute_norm("ln_2", s.middle, s.mean2, s.rstd2));
  const TensorId dnormed2 = linear_dx("mlp.c_fc", dfc, C_, "ln_2.dout");
  norm_backward("ln_2", dnormed2, s.middle, s.mean2, s.rstd2, dstream);

  const TensorId dprojection = branch_gradient(dstream, kProjectionSite);
  linear_dw("attn.c_proj", dprojection, s.attended);
  const TensorId dattended = linear_dx("attn.c_proj", dprojection, C_, "attn.dout");
  const TensorId dqkv = attention_backward(s, dattended);
  linear_dw("attn.c_attn", dqkv,
            s.normed1 != kNoTensor ? s.normed1 : recompute_norm("ln_1", s.input, s.mean1, s.rstd1));
  const TensorId dnormed1 = linear_dx("attn.c_attn", dqkv, C_, "ln_1.dout");
  norm_backward("ln_1", dnormed1, s.input, s.mean1, s.rstd1, dstream);
}

}  // namespace snug::gpt2
