#include "program/block.h"

#include <fmt/format.h>

#include "base/philox.h"

namespace snug {

std::uint32_t dropout_site(const ModelSpec& model, std::int64_t layer, std::uint32_t place) {
  if (model.dropout == 0) return 0;
  return static_cast<std::uint32_t>(RandomPurpose::kDropout) +
         4 * static_cast<std::uint32_t>(layer) + place;
}

BlockEmitter::BlockEmitter(ProgramBuilder& builder, std::int64_t layer, Mode mode)
    : builder_(builder),
      prefix_(fmt::format("h.{}.", layer)),
      layer_(layer),
      B_(builder.phase().batch_size),
      T_(builder.phase().block_size),
      C_(builder.model().n_embd),
      mode_(mode) {}

std::string BlockEmitter::label(const std::string& what) const { return prefix_ + what; }

std::uint32_t BlockEmitter::site(Place place) const {
  return training() ? dropout_site(builder_.model(), layer_, place) : 0;
}

TensorId BlockEmitter::make(const char* name, std::int64_t width) {
  return builder_.activation(prefix_ + name, {B_, T_, width});
}

TensorId BlockEmitter::make_stat(const char* name) {
  return builder_.statistic(prefix_ + name, {B_, T_});
}

TensorId BlockEmitter::norm(const char* name, TensorId x, TensorId* mean, TensorId* rstd) {
  const std::string base = prefix_ + name;
  *mean = make_stat((std::string(name) + ".mean").c_str());
  *rstd = make_stat((std::string(name) + ".rstd").c_str());
  const TensorId y = make((std::string(name) + ".out").c_str(), C_);
  builder_.emit({OpKind::kLayerNorm,
                 label(name),
                 {x, builder_.weight(base + ".weight"), builder_.weight(base + ".bias")},
                 {y, *mean, *rstd}});
  return y;
}

TensorId BlockEmitter::linear(const char* name, TensorId x, std::int64_t width,
                              const char* out_name) {
  const std::string base = prefix_ + name;
  const TensorId y = make(out_name, width);
  builder_.emit({OpKind::kLinear,
                 label(name),
                 {x, builder_.weight(base + ".weight"), builder_.weight(base + ".bias")},
                 {y}});
  return y;
}

TensorId BlockEmitter::attention(TensorId qkv, TensorId* lse) {
  const std::int64_t heads = builder_.model().n_head;
  const TensorId out = make("attn.out", C_);
  Op op{OpKind::kAttention, label("attn"), {qkv}, {out, kNoTensor}};
  op.head_count = heads;
  if (training()) {
    *lse = builder_.statistic(prefix_ + "attn.lse", {B_, heads, T_});
    op.writes[1] = *lse;
    op.dropout_site = site(kAttentionPlace);
  }
  if (mode_ == Mode::kPrefill) {
    builder_.emit({OpKind::kKvStore, label("attn.cache"), {qkv}, {keys_, values_}});
  }
  if (mode_ == Mode::kDecode) {
    op.kind = OpKind::kAttentionDecode;
    op.reads = {qkv, keys_, values_};
    op.writes = {out, keys_, values_};
  }
  builder_.emit(std::move(op));
  return out;
}

TensorId BlockEmitter::residual(const char* name, TensorId stream, TensorId branch, Place place) {
  const TensorId out = training() ? make(name, C_) : stream;
  Op op{OpKind::kResidualAdd, label(name), {stream, branch}, {out}};
  op.dropout_site = site(place);
  builder_.emit(std::move(op));
  return out;
}

void BlockEmitter::forward_to_fc(SavedBlock& s) {
  const TensorId normed = norm("ln_1", s.input, &s.mean1, &s.rstd1);
  if (keep_all_) s.normed1 = normed;
  s.qkv = linear("attn.c_attn", normed, 3 * C_, "attn.qkv");
  s.attended = attention(s.qkv, &s.lse);
  const TensorId branch = linear("attn.c_proj", s.attended, C_, "attn.branch");
  s.middle = residual("middle", s.input, branch, kProjectionPlace);
  const TensorId normed2 = norm("ln_2", s.middle, &s.mean2, &s.rstd2);
  if (keep_all_) s.normed2 = normed2;
  s.fc = linear("mlp.c_fc", normed2, 4 * C_, "mlp.fc");
}

TensorId BlockEmitter::forward(TensorId input, SavedBlock* saved) {
  SavedBlock s;
  s.input = input;
  forward_to_fc(s);
  const TensorId activated = training() ? make("mlp.gelu", 4 * C_) : s.fc;
  builder_.emit({OpKind::kGelu, label("mlp.gelu"), {s.fc}, {activated}});
  if (keep_all_) s.activated = activated;
  const TensorId branch = linear("mlp.c_proj", activated, C_, "mlp.branch");
  if (saved != nullptr) *saved = s;
  return residual("out", s.middle, branch, kMlpPlace);
}

SavedBlock BlockEmitter::recompute(TensorId input) {
  SavedBlock s;
  s.input = input;
  forward_to_fc(s);
  return s;
}

}  // namespace snug
