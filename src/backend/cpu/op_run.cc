#include "backend/cpu/op_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/cpu/kernels/chunks.h"
#include "base/error.h"

namespace snug::cpu {
namespace {

void fill_bytes(const TensorView& view, int value) {
  constexpr std::int64_t kBytes = kChunk * static_cast<std::int64_t>(sizeof(float));
  for_each_range(view.byte_count(), kBytes, 1, [&](std::int64_t begin, std::int64_t end) {
    std::memset(view.data + begin, value, static_cast<std::size_t>(end - begin));
  });
}

void run_zero(const OpRun& r) {
  for (const TensorId id : r.op.writes) fill_bytes(r.executor.view(id), 0);
}

void run_reset_embed_rows(const OpRun& r) {
  fill_bytes(r.executor.view(r.op.writes[0]), 0xff);  // every slot -1
  *r.write_i32(1) = 0;
  fill_bytes(r.executor.view(r.op.writes[2]), 0);
}

void run_embed(const OpRun& r) {
  const bool decode = r.phase.kind == PhaseKind::kDecode;
  r.kernels().embed({r.B(), r.T(), r.width(r.op.writes[0]), r.read_i32(0), r.read(1), r.read(2),
                     r.write(0), decode ? r.context.position : 0, r.dropout()});
}

void run_embed_backward(const OpRun& r) {
  r.kernels().embed_backward({r.B(), r.T(), r.width(r.op.reads[1]), r.read_i32(0), r.read(1),
                              r.read(2), r.read(3), r.read_i32(4), r.read_i32(5), r.read_i32(6),
                              r.dropout()});
}

void run_merge_embed_rows(const OpRun& r) {
  const float* rows = r.read(0);
  const std::int32_t* row_token = r.read_i32(1);
  const std::int64_t count = *r.read_i32(2), C = r.width(r.op.reads[0]);
  float* dwte = r.write(0);
  for_each_rows(count, C, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      float* out = dwte + row_token[row] * C;
      for (std::int64_t c = 0; c < C; ++c) out[c] += rows[row * C + c];
    }
  });
}

void run_layernorm(const OpRun& r) {
  r.kernels().layernorm_forward({r.B() * r.T(), r.width(r.op.reads[0]), r.read(0), r.read(1),
                                 r.read(2), r.write(0), r.write(1), r.write(2)});
}

void run_layernorm_apply(const OpRun& r) {
  r.kernels().layernorm_apply({r.B() * r.T(), r.width(r.op.reads[0]), r.read(0), r.read(1),
                               r.read(2), r.write(0), r.read(3), r.read(4)});
}

void run_layernorm_backward(const OpRun& r) {
  r.kernels().layernorm_backward({r.B(), r.T(), r.width(r.op.reads[0]), r.read(0), r.read(1),
                                  r.read(2), r.read(3), r.read(4), r.write(0), r.write(1),
                                  r.write(2), r.scratch.floats()});
}

void run_gelu(const OpRun& r) {
  r.kernels().gelu({r.B() * r.T() * r.width(r.op.reads[0]), r.read(0), r.write(0)});
}

void run_gelu_backward(const OpRun& r) {
  r.kernels().gelu_backward({r.B() * r.T() * r.width(r.op.reads[0]), r.read(0), r.write(0)});
}

void run_attention(const OpRun& r) {
  r.kernels().attention({r.B(), r.T(), r.width(r.op.writes[0]), r.op.head_count, r.read(0),
                         r.write(0), r.write(1), r.scratch, r.dropout()});
}

void run_attention_backward(const OpRun& r) {
  r.kernels().attention_backward({r.B(), r.T(), r.width(r.op.reads[1]), r.op.head_count, r.read(0),
                                  r.read(1), r.read(2), r.read(3), r.write(0), r.scratch,
                                  r.dropout()});
}

void run_attention_decode(const OpRun& r) {
  r.kernels().attention_decode({r.width(r.op.writes[0]), r.op.head_count, r.context.position,
                                r.read(0), r.write(1), r.write(2), r.write(0), r.scratch.floats()});
}

void run_kv_store(const OpRun& r) {
  const std::int64_t C = r.width(r.op.writes[0]);
  const auto bytes = static_cast<std::size_t>(C) * sizeof(float);
  for (std::int64_t t = 0; t < r.T(); ++t) {
    const float* qkv = r.read(0) + t * 3 * C;
    std::memcpy(r.write(0) + t * C, qkv + C, bytes);
    std::memcpy(r.write(1) + t * C, qkv + 2 * C, bytes);
  }
}

void run_residual_add(const OpRun& r) {
  r.kernels().residual_add(
      {r.B(), r.T(), r.width(r.op.writes[0]), r.read(0), r.read(1), r.write(0), r.dropout()});
}

void run_dropout_backward(const OpRun& r) {
  r.kernels().dropout_backward(
      {r.B(), r.T(), r.width(r.op.writes[0]), r.read(0), r.write(0), r.dropout()});
}

void run_cross_entropy(const OpRun& r) {
  const std::int64_t first = r.first_row, rows = r.end_row - first;
  r.kernels().cross_entropy({rows, r.width(r.op.reads[0]), r.read_i32(1) + first, r.read(0),
                             r.write(0) + first, r.op.writes[1] != kNoTensor});
}

void run_gradient_norm(const OpRun& r) {
  double sum = 0;
  for (const TensorId id : r.op.reads) {
    const TensorView view = r.executor.view(id);
    sum += r.kernels().sum_of_squares(view.f32(), view.element_count(),
                                      reinterpret_cast<double*>(r.scratch.data));
  }
  *r.executor.view(r.op.writes[0]).f64() = std::sqrt(sum) * r.context.gradient_scale;
}

template <class Moment>
AdamWOn<Moment> adamw_on(const OpRun& r, double norm, Moment* m, Moment* v) {
  const StepContext& c = r.context;
  // As torch.nn.utils.clip_grad_norm_ does it.
  const double clip = c.gradient_clip > 0 ? std::min(1.0, c.gradient_clip / (norm + 1e-6)) : 1.0;
  const auto t = static_cast<double>(c.update_count);
  return {r.tensor(r.op.writes[0]).shape.element_count(),
          r.write(0),
          r.read(1),
          m,
          v,
          static_cast<float>(c.gradient_scale * clip),
          c.learning_rate,
          c.beta1,
          c.beta2,
          c.epsilon,
          r.op.weight_decay,
          1 - std::pow(c.beta1, t),
          1 - std::pow(c.beta2, t)};
}

void run_adamw(const OpRun& r) {
  const double norm = *r.executor.view(r.op.reads[4]).f64();
  if (!std::isfinite(norm)) return;
  const TensorView m = r.executor.view(r.op.writes[1]), v = r.executor.view(r.op.writes[2]);
  if (m.dtype == DType::kBF16) {
    const MomentRounding rounding{r.context.seed, static_cast<std::uint32_t>(r.op.parameter_index),
                                  static_cast<std::uint32_t>(r.context.iteration)};
    r.kernels().adamw_bf16({adamw_on(r, norm, m.bf16(), v.bf16()), rounding});
  } else {
    r.kernels().adamw(adamw_on(r, norm, m.f32(), v.f32()));
  }
}

void run_by_host(const OpRun&) {}  // checkpoints are read and written by the training loop

struct Registration {
  OpKind kind;
  OpFunction function;
};

constexpr Registration kRegistrations[] = {
    {OpKind::kZero, run_zero},
    {OpKind::kResetEmbedRows, run_reset_embed_rows},
    {OpKind::kEmbed, run_embed},
    {OpKind::kEmbedBackward, run_embed_backward},
    {OpKind::kMergeEmbedRows, run_merge_embed_rows},
    {OpKind::kLayerNorm, run_layernorm},
    {OpKind::kLayerNormApply, run_layernorm_apply},
    {OpKind::kLayerNormBackward, run_layernorm_backward},
    {OpKind::kLinear, run_linear},
    {OpKind::kLinearDx, run_linear_dx},
    {OpKind::kLinearDw, run_linear_dw},
    {OpKind::kGelu, run_gelu},
    {OpKind::kGeluBackward, run_gelu_backward},
    {OpKind::kAttention, run_attention},
    {OpKind::kAttentionBackward, run_attention_backward},
    {OpKind::kAttentionDecode, run_attention_decode},
    {OpKind::kKvStore, run_kv_store},
    {OpKind::kResidualAdd, run_residual_add},
    {OpKind::kDropoutBackward, run_dropout_backward},
    {OpKind::kCrossEntropy, run_cross_entropy},
    {OpKind::kGradientNorm, run_gradient_norm},
    {OpKind::kAdamW, run_adamw},
    {OpKind::kCheckpointWrite, run_by_host},
    {OpKind::kCheckpointRead, run_by_host},
};

}  // namespace

Dropout OpRun::dropout() const {
  Dropout d;
  if (op.dropout_site == 0 || context.dropout <= 0) return d;
  d.seed = context.seed;
  d.site = op.dropout_site;
  d.iteration = static_cast<std::uint32_t>(context.iteration);
  d.first_sequence = static_cast<std::uint32_t>(context.first_sequence);
  d.threshold = static_cast<std::uint32_t>(
      std::min(std::ldexp(context.dropout, 32), std::ldexp(1.0, 32) - 1));
  d.scale = static_cast<float>(1.0 / (1.0 - context.dropout));
  return d;
}

OpFunction op_function(const Op& op) {
  for (const Registration& row : kRegistrations) {
    if (row.kind == op.kind) return row.function;
  }
  throw InternalError(
      fmt::format("the cpu backend has no kernel for '{}' ({})", name_of(op.kind), op.label));
}

}  // namespace snug::cpu
