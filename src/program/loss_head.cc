#include "program/loss_head.h"

#include <algorithm>

namespace snug::program {
namespace {

// Rows of a tile: enough that the vocabulary GEMMs run near their peak (measured in
// docs/benchmarks.md), few enough that 50304 fp32 columns stay near 50 MB.
constexpr std::int64_t kTileRows = 256;
constexpr std::int64_t kLossChunkBytes = 64 * kMiB;

// One chunk's logits, which the whole loop uses.
struct Chunk {
  TensorId logits;
  std::int64_t tile_rows;
};

Chunk begin_chunks(ProgramBuilder& builder, std::int64_t wanted_rows) {
  const Phase& phase = builder.phase();
  const std::int64_t T = phase.block_size, V = builder.model().vocab_size;
  const std::int64_t rows = loss_chunk_rows(phase.batch_size, T, V, wanted_rows, builder.compute());
  const std::int64_t tile_rows = loss_tile_rows(T);
  const TensorId logits = builder.activation("logits", {rows, V}, Role::kLossHead);
  builder.begin_loop(rows, tile_rows);
  return {logits, tile_rows};
}

void emit_forward(ProgramBuilder& builder, const Pass& pass, TensorId normed, const Chunk& chunk,
                  bool want_gradient) {
  const Phase& phase = builder.phase();
  builder.emit("lm_head", ops::Linear{.x = normed,
                                      .weight = pass.head_weight(),
                                      .bias = kNoTensor,
                                      .y = chunk.logits,
                                      .tile_rows = chunk.tile_rows});
  builder.emit("loss", ops::CrossEntropy{.logits = chunk.logits,
                                         .targets = phase.io.targets,
                                         .losses = phase.io.losses,
                                         .gradient = want_gradient ? chunk.logits : kNoTensor});
}

}  // namespace

std::int64_t loss_tile_rows(std::int64_t block_size) { return std::min(block_size, kTileRows); }

std::int64_t loss_chunk_rows(std::int64_t batch_size, std::int64_t block_size,
                             std::int64_t vocab_size, std::int64_t wanted_rows, DType dtype) {
  const std::int64_t tile = loss_tile_rows(block_size);
  if (wanted_rows == 0) wanted_rows = kLossChunkBytes / (vocab_size * size_of(dtype));
  return std::min(checked_mul(batch_size, block_size), std::max(tile, wanted_rows / tile * tile));
}

void emit_loss(ProgramBuilder& builder, const Pass& pass, TensorId normed,
               std::int64_t wanted_rows) {
  emit_forward(builder, pass, normed, begin_chunks(builder, wanted_rows), false);
  builder.end_loop();
}

void emit_loss_and_gradient(ProgramBuilder& builder, const Pass& pass, TensorId normed,
                            std::int64_t wanted_rows) {
  const Chunk chunk = begin_chunks(builder, wanted_rows);
  emit_forward(builder, pass, normed, chunk, true);
  builder.emit("lm_head backward dW", ops::LinearDw{.dy = chunk.logits,
                                                    .x = normed,
                                                    .dweight = pass.head_weight_gradient(),
                                                    .dbias = kNoTensor,
                                                    .tile_rows = chunk.tile_rows});
  // The rows' norm output has served: its gradient takes its place.
  builder.emit("lm_head backward dX", ops::LinearDx{.dy = chunk.logits,
                                                    .weight = pass.head_weight(),
                                                    .dx = normed,
                                                    .tile_rows = chunk.tile_rows});
  builder.end_loop();
}

}  // namespace snug::program
