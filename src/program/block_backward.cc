// The backward half of BlockEmitter. The order keeps the working set small: a wide recomputed input
// is used for its weight gradient and dies before the wide input gradient is made.
#include "program/block.h"

namespace snug {

TensorId BlockEmitter::norm_again(const char* name, TensorId x, TensorId mean, TensorId rstd) {
  const std::string base = prefix_ + name;
  const TensorId y = make((std::string(name) + ".out").c_str(), C_);
  builder_.emit(
      {OpKind::kLayerNormApply,
       label(std::string(name) + " again"),
       {x, builder_.weight(base + ".weight"), builder_.weight(base + ".bias"), mean, rstd},
       {y}});
  return y;
}

TensorId BlockEmitter::gelu_again(TensorId fc) {
  const TensorId activated = make("mlp.gelu", 4 * C_);
  builder_.emit({OpKind::kGelu, label("mlp.gelu again"), {fc}, {activated}});
  return activated;
}

TensorId BlockEmitter::branch_gradient(TensorId dstream, Place place) {
  if (site(place) == 0) return dstream;
  const TensorId dbranch = make("dbranch", C_);
  Op op{OpKind::kDropoutBackward, label("dropout backward"), {dstream}, {dbranch}};
  op.dropout_site = site(place);
  builder_.emit(std::move(op));
  return dbranch;
}

void BlockEmitter::linear_dw(const char* name, TensorId dy, TensorId x) {
  const std::string base = prefix_ + name;
  const TensorId dweight = builder_.gradient(base + ".weight");
  builder_.emit({OpKind::kLinearDw,
                 label(std::string(name) + " backward dW"),
                 {dy, x, dweight},
                 {dweight, builder_.gradient(base + ".bias")}});
}

TensorId BlockEmitter::linear_dx(const char* name, TensorId dy, std::int64_t width,
                                 const char* out_name) {
  const TensorId dx = make(out_name, width);
  builder_.emit({OpKind::kLinearDx,
                 label(std::string(name) + " backward dX"),
                 {dy, builder_.weight(prefix_ + name + ".weight")},
                 {dx}});
  return dx;
}

void BlockEmitter::norm_backward(const char* name, TensorId dy, TensorId x, TensorId mean,
                                 TensorId rstd, TensorId dstream) {
  const std::string base = prefix_ + name;
  builder_.emit(
      {OpKind::kLayerNormBackward,
       label(std::string(name) + " backward"),
       {dy, x, builder_.weight(base + ".weight"), mean, rstd, dstream},
       {dstream, builder_.gradient(base + ".weight"), builder_.gradient(base + ".bias")}});
}

void BlockEmitter::backward(const SavedBlock& s, TensorId dstream) {
  const TensorId dmlp = branch_gradient(dstream, kMlpPlace);
  linear_dw("mlp.c_proj", dmlp, s.activated != kNoTensor ? s.activated : gelu_again(s.fc));
  const TensorId dfc = linear_dx("mlp.c_proj", dmlp, 4 * C_, "mlp.dfc");
  builder_.emit({OpKind::kGeluBackward, label("mlp.gelu backward"), {s.fc, dfc}, {dfc}});
  linear_dw("mlp.c_fc", dfc,
            s.normed2 != kNoTensor ? s.normed2 : norm_again("ln_2", s.middle, s.mean2, s.rstd2));
  const TensorId dnormed2 = linear_dx("mlp.c_fc", dfc, C_, "ln_2.dout");
  norm_backward("ln_2", dnormed2, s.middle, s.mean2, s.rstd2, dstream);

  const TensorId dprojection = branch_gradient(dstream, kProjectionPlace);
  linear_dw("attn.c_proj", dprojection, s.attended);
  const TensorId dattended = linear_dx("attn.c_proj", dprojection, C_, "attn.dout");
  const TensorId dqkv = make("attn.dqkv", 3 * C_);
  Op op{OpKind::kAttentionBackward,
        label("attn backward"),
        {s.qkv, s.attended, s.lse, dattended},
        {dqkv}};
  op.head_count = builder_.model().n_head;
  op.dropout_site = site(kAttentionPlace);
  builder_.emit(std::move(op));
  linear_dw("attn.c_attn", dqkv,
            s.normed1 != kNoTensor ? s.normed1 : norm_again("ln_1", s.input, s.mean1, s.rstd1));
  const TensorId dnormed1 = linear_dx("attn.c_attn", dqkv, C_, "ln_1.dout");
  norm_backward("ln_1", dnormed1, s.input, s.mean1, s.rstd1, dstream);
}

}  // namespace snug
