#include "program/loss_head.h"

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
  std::int64_t chunk_rows, tile_rows;
};

Head begin_head(ProgramBuilder& builder, TensorId stream, std::int64_t wanted_rows) {
  const Phase& phase = builder.phase();
  const ModelSpec& model = builder.model();
  const std::int64_t B = phase.batch_size, T = phase.block_size;
  Head head;
  head.mean = builder.statistic("ln_f.mean", {B, T});
  head.rstd = builder.statistic("ln_f.rstd", {B, T});
  head.normed = builder.activation("ln_f.out", {B, T, model.n_embd});
  head.tile_rows = loss_tile_rows(T);
  head.chunk_rows = loss_chunk_rows(B, T, model.vocab_size, wanted_rows, builder.compute());
  head.logits = builder.activation("logits", {head.chunk_rows, model.vocab_size}, Role::kLossHead);
  builder.emit({OpKind::kLayerNorm,
                "ln_f",
                {stream, builder.weight("ln_f.weight"), builder.weight("ln_f.bias")},
                {head.normed, head.mean, head.rstd}});
  return head;
}

// The body of the loop over chunks: their losses and, if wanted, what they add to both gradients.
Head emit_chunks(ProgramBuilder& builder, TensorId stream, std::int64_t wanted_rows,
                 bool want_gradient) {
  const Head head = begin_head(builder, stream, wanted_rows);
  const TensorId wte = builder.weight("wte.weight");
  const TensorId targets = builder.phase().targets, losses = builder.phase().losses;
  const auto emit = [&](Op op) {
    op.chunk_rows = head.chunk_rows;
    op.tile_rows = head.tile_rows;
    builder.emit(std::move(op));
  };
  emit({OpKind::kLinear, "lm_head", {head.normed, wte, kNoTensor}, {head.logits}});
  emit({OpKind::kCrossEntropy,
        "loss",
        {head.logits, targets},
        {losses, want_gradient ? head.logits : kNoTensor}});
  if (!want_gradient) return head;
  const TensorId dwte = builder.gradient("wte.weight");
  emit({OpKind::kLinearDw,
        "lm_head backward dW",
        {head.logits, head.normed, dwte},
        {dwte, kNoTensor}});
  // The rows' norm output has served: its gradient takes its place.
  emit({OpKind::kLinearDx, "lm_head backward dX", {head.logits, wte}, {head.normed}});
  return head;
}

}  // namespace

std::int64_t loss_tile_rows(std::int64_t block_size) { return std::min(block_size, kTileRows); }

std::int64_t loss_chunk_rows(std::int64_t batch_size, std::int64_t block_size,
                             std::int64_t vocab_size, std::int64_t wanted_rows, DType dtype) {
  const std::int64_t tile = loss_tile_rows(block_size);
  if (wanted_rows == 0) wanted_rows = kLossChunkBytes / (vocab_size * size_of(dtype));
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
