#include "backend/cuda/op_rows.h"

#include <array>

#include "backend/cuda/linear.h"
#include "backend/cuda/op_functions.h"
#include "backend/cuda/op_run.h"
#include "backend/op_table.h"

namespace snug::cuda {
namespace {

// From a function of one definition to one that takes any op, and finds its definition in it.
template <class Definition, auto function>
void run_definition(const OpRun& run) {
  function(run, std::get<Definition>(run.op.definition));
}

template <class Definition, auto run>
constexpr OpRow row(std::optional<DType> precision) {
  return {ops::kind_of<Definition>(), precision, nullptr, false, run_definition<Definition, run>};
}

// An op on bytes, whatever they hold.
template <class Definition, auto run>
constexpr OpRow row_of_bytes() {
  return row<Definition, run>(std::nullopt);
}

// The rows of an op that computes in every precision.
template <class Definition, auto run>
constexpr std::array<OpRow, 3> rows_in_chunks() {
  std::array<OpRow, 3> made = {row<Definition, run>(DType::kF32),
                               row<Definition, run>(DType::kBF16),
                               row<Definition, run>(DType::kF16)};
  for (OpRow& each : made) each.runs_in_chunks = true;
  return made;
}
template <class Definition, auto run>
constexpr std::array<OpRow, 3> rows() {
  return {row<Definition, run>(DType::kF32), row<Definition, run>(DType::kBF16),
          row<Definition, run>(DType::kF16)};
}
template <class Definition, auto run>
constexpr std::array<OpRow, 3> linear_rows() {
  std::array<OpRow, 3> made = rows_in_chunks<Definition, run>();
  for (OpRow& each : made) each.prepare = prepare_linear;
  return made;
}

constexpr std::array kOtherRows = {
    row_of_bytes<ops::Zero, run_zero>(),
    row_of_bytes<ops::ResetEmbedRows, run_reset_embed_rows>(),
    row_of_bytes<ops::MergeEmbedRows, run_merge_embed_rows>(),
    row_of_bytes<ops::GradientNorm, run_gradient_norm>(),
    row<ops::AdamW, run_adamw>(DType::kF32),
    row<ops::AdamW, run_adamw>(DType::kBF16),
    row_of_bytes<ops::Cast, run_cast>(),
    row_of_bytes<ops::Copy, run_copy>(),
    row_of_bytes<ops::CheckpointWrite, run_checkpoint_write>(),
    row_of_bytes<ops::CheckpointRead, run_checkpoint_read>(),
};

constexpr auto kRows = backend::joined_rows(
    kOtherRows, rows<ops::Embed, run_embed>(), rows<ops::EmbedBackward, run_embed_backward>(),
    rows<ops::LayerNorm, run_layernorm>(), rows<ops::LayerNormApply, run_layernorm_apply>(),
    rows<ops::LayerNormBackward, run_layernorm_backward>(), linear_rows<ops::Linear, run_linear>(),
    linear_rows<ops::LinearDx, run_linear_dx>(), linear_rows<ops::LinearDw, run_linear_dw>(),
    rows<ops::Gelu, run_gelu>(), rows<ops::GeluBackward, run_gelu_backward>(),
    rows<ops::Attention, run_attention>(), rows<ops::AttentionBackward, run_attention_backward>(),
    rows<ops::AttentionDecode, run_attention_decode>(), rows<ops::KvStore, run_kv_store>(),
    rows<ops::ResidualAdd, run_residual_add>(), rows<ops::DropoutBackward, run_dropout_backward>(),
    rows_in_chunks<ops::CrossEntropy, run_cross_entropy>());

}  // namespace

std::span<const OpRow> op_rows() { return kRows; }

const OpRow& row_of(const ops::Op& op, const ops::Shapes& shapes) {
  return backend::row_of(kRows, op, shapes, "cuda");
}

}  // namespace snug::cuda
