#include "gpt2/block.h"

#include <fmt/format.h>

#include "base/philox.h"

namespace snug::gpt2 {

std::uint32_t dropout_site(const model::ModelSpec& model, std::int64_t layer, std::uint32_t place) {
  if (model.dropout == 0) return 0;
  return static_cast<std::uint32_t>(RandomPurpose::kDropout) +
         4 * static_cast<std::uint32_t>(layer) + place;
}

BlockEmitter::BlockEmitter(program::ProgramBuilder& builder, std::int64_t layer,
                           program::PassMode mode, const program::LayerCache& cache, bool keep_all)
    : builder_(builder),
      prefix_(fmt::format("h.{}.", layer)),
      layer_(layer),
      B_(builder.phase().batch_size),
      T_(builder.phase().block_size),
      C_(builder.model().n_embd),
      mode_(mode),
      cache_(cache),
      keep_all_(keep_all) {}

std::uint32_t BlockEmitter::site(Site where) const {
  return training() ? dropout_site(builder_.model(), layer_, where) : 0;
}

TensorId BlockEmitter::make(const std::string& name, std::int64_t width) {
  return builder_.activation(prefix_ + name, {B_, T_, width});
}

TensorId BlockEmitter::make_stat(const std::string& name) {
  return builder_.statistic(prefix_ + name, {B_, T_});
}

TensorId BlockEmitter::norm(const std::string& name, TensorId x, TensorId* mean, TensorId* rstd) {
  *mean = make_stat(name + ".mean");
  *rstd = make_stat(name + ".rstd");
  const TensorId y = make(name + ".out", C_);
  emit(name, ops::LayerNorm{.x = x,
                            .gamma = weight(name + ".weight"),
                            .beta = weight(name + ".bias"),
                            .y = y,
                            .mean = *mean,
                            .rstd = *rstd});
  return y;
}

TensorId BlockEmitter::linear(const std::string& name, TensorId x, std::int64_t width,
                              const std::string& out_name) {
  const TensorId y = make(out_name, width);
  emit(name,
       ops::Linear{
           .x = x, .weight = weight(name + ".weight"), .bias = weight(name + ".bias"), .y = y});
  return y;
}

TensorId BlockEmitter::attention(TensorId qkv, TensorId* lse) {
  const std::int64_t heads = builder_.model().n_head;
  const TensorId out = make("attn.out", C_);
  if (mode_ == program::PassMode::kDecode) return decode_attention(qkv, out);
  if (training()) *lse = builder_.statistic(prefix_ + "attn.lse", {B_, heads, T_});
  if (mode_ == program::PassMode::kPrefill) {
    emit("attn.cache", ops::KvStore{.qkv = qkv, .keys = cache_.keys, .values = cache_.values});
  }
  emit("attn", ops::Attention{.qkv = qkv,
                              .out = out,
                              .lse = training() ? *lse : kNoTensor,
                              .head_count = heads,
                              .dropout_site = site(kAttentionSite)});
  return out;
}

TensorId BlockEmitter::decode_attention(TensorId qkv, TensorId out) {
  emit("attn", ops::AttentionDecode{.qkv = qkv,
                                    .keys = cache_.keys,
                                    .values = cache_.values,
                                    .out = out,
                                    .head_count = builder_.model().n_head});
  return out;
}

TensorId BlockEmitter::residual(const std::string& name, TensorId stream, TensorId branch,
                                Site where) {
  const TensorId out = training() ? make(name, C_) : stream;
  emit(name, ops::ResidualAdd{
                 .residual = stream, .branch = branch, .out = out, .dropout_site = site(where)});
  return out;
}

void BlockEmitter::forward_to_fc(SavedBlock& s) {
  const TensorId normed = norm("ln_1", s.input, &s.mean1, &s.rstd1);
  if (keep_all_) s.normed1 = normed;
  s.qkv = linear("attn.c_attn", normed, 3 * C_, "attn.qkv");
  s.attended = attention(s.qkv, &s.lse);
  const TensorId branch = linear("attn.c_proj", s.attended, C_, "attn.branch");
  s.middle = residual("middle", s.input, branch, kProjectionSite);
  const TensorId normed2 = norm("ln_2", s.middle, &s.mean2, &s.rstd2);
  if (keep_all_) s.normed2 = normed2;
  s.fc = linear("mlp.c_fc", normed2, 4 * C_, "mlp.fc");
}

TensorId BlockEmitter::forward(TensorId input, SavedBlock* saved) {
  SavedBlock s;
  s.input = input;
  forward_to_fc(s);
  const TensorId activated = training() ? make("mlp.gelu", 4 * C_) : s.fc;
  emit("mlp.gelu", ops::Gelu{.x = s.fc, .y = activated, .form = gelu()});
  if (keep_all_) s.activated = activated;
  const TensorId branch = linear("mlp.c_proj", activated, C_, "mlp.branch");
  *saved = s;
  return residual("out", s.middle, branch, kMlpSite);
}

SavedBlock BlockEmitter::recompute(TensorId input) {
  SavedBlock s;
  s.input = input;
  forward_to_fc(s);
  return s;
}

}  // namespace snug::gpt2
