#include "program/loss_head.h"

#include <fmt/format.h>

#include <algorithm>

namespace snug {
namespace {

// Rows of a tile: enough that the vocabulary GEMMs run near their peak (measured in
// docs/benchmarks.md), few enough that 50304 fp32 columns stay near 50 MB.
constexpr std::int64_t kTileRows = 256;
constexpr std::int64_t kLossChunkBytes = 64 * kMiB;

struct Head {
  TensorId normed, mean, rstd;
  TensorId logits;
  std::int64_t chunk_rows, total_rows, tile_rows;
};

Head begin_head(ProgramBuilder& builder, TensorId stream, std::int64_t wanted_rows) {
  const Phase& phase = builder.phase();
  const ModelSpec& model = builder.model();
  const std::int64_t B = phase.batch_size, T = phase.block_size;
  Head head;
  head.mean = builder.activation("ln_f.mean", {B, T});
  head.rstd = builder.activation("ln_f.rstd", {B, T});
  head.normed = builder.activation("ln_f.out", {B, T, model.n_embd});
  head.total_rows = checked_mul(B, T);
  head.tile_rows = loss_tile_rows(T);
  head.chunk_rows = loss_chunk_rows(B, T, model.vocab_size, wanted_rows);
  head.logits = builder.activation("logits", {head.chunk_rows, model.vocab_size}, Role::kLossHead);
  builder.emit({OpKind::kLayerNorm,
                "ln_f",
                {stream, builder.weight("ln_f.weight"), builder.weight("ln_f.bias")},
                {head.normed, head.mean, head.rstd}});
  return head;
}

// Rows first .. first + count of the head, ending at a tile border.
std::int64_t chunk_end(const Head& head, std::int64_t T, std::int64_t first) {
  const std::int64_t last = std::min(first + head.chunk_rows, head.total_rows);
  if (last == head.total_rows) return last;
  const std::int64_t in_sequence = last % T;
  return last - in_sequence % head.tile_rows;
}

// Rows [first, end) of the head: their losses and, if wanted, what they add to both gradients.
void emit_chunk(ProgramBuilder& builder, const Head& head, std::int64_t first, std::int64_t end,
                bool want_gradient) {
  const TensorId wte = builder.weight("wte.weight");
  const TensorId targets = builder.phase().targets, losses = builder.phase().losses;
  const std::string at = fmt::format(" rows {}-{}", first, end - 1);
  const auto emit = [&](Op op) {
    op.label += at;
    op.first_row = first;
    op.row_count = end - first;
    op.tile_rows = head.tile_rows;
    builder.emit(std::move(op));
  };
  emit({OpKind::kLinear, "lm_head", {head.normed, wte, kNoTensor}, {head.logits}});
  emit({OpKind::kCrossEntropy,
        "loss",
        {head.logits, targets},
        {losses, want_gradient ? head.logits : kNoTensor}});
  if (!want_gradient) return;
  const TensorId dwte = builder.gradient("wte.weight");
  emit({OpKind::kLinearDw,
        "lm_head backward dW",
        {head.logits, head.normed, dwte},
        {dwte, kNoTensor}});
  // The rows' norm output has served: its gradient takes its place.
  emit({OpKind::kLinearDx, "lm_head backward dX", {head.logits, wte}, {head.normed}});
}

Head emit_chunks(ProgramBuilder& builder, TensorId stream, std::int64_t wanted_rows,
                 bool want_gradient) {
  const Head head = begin_head(builder, stream, wanted_rows);
  for (std::int64_t first = 0; first < head.total_rows;) {
    const std::int64_t end = chunk_end(head, builder.phase().block_size, first);
    emit_chunk(builder, head, first, end, want_gradient);
    first = end;
  }
  return head;
}

}  // namespace

std::int64_t loss_tile_rows(std::int64_t block_size) { return std::min(block_size, kTileRows); }

std::int64_t loss_chunk_rows(std::int64_t batch_size, std::int64_t block_size,
                             std::int64_t vocab_size, std::int64_t wanted_rows) {
  const std::int64_t tile = loss_tile_rows(block_size);
  if (wanted_rows == 0) wanted_rows = kLossChunkBytes / (vocab_size * size_of(DType::kF32));
  return std::min(checked_mul(batch_size, block_size), std::max(tile, wanted_rows / tile * tile));
}

void emit_loss(ProgramBuilder& builder, TensorId stream, std::int64_t wanted_rows) {
  emit_chunks(builder, stream, wanted_rows, false);
}

TensorId emit_loss_and_gradient(ProgramBuilder& builder, TensorId stream,
                                std::int64_t wanted_rows) {
  const Head head = emit_chunks(builder, stream, wanted_rows, true);
  const Phase& phase = builder.phase();
  const TensorId dstream =
      builder.activation("dstream", {phase.batch_size, phase.block_size, builder.model().n_embd});
  builder.emit({OpKind::kZero, "dstream", {}, {dstream}});
  builder.emit({OpKind::kLayerNormBackward,
                "ln_f backward",
                {head.normed, stream, builder.weight("ln_f.weight"), head.mean, head.rstd, dstream},
                {dstream, builder.gradient("ln_f.weight"), builder.gradient("ln_f.bias")}});
  return dstream;
}

}  // namespace snug
