// The loss head: final norm, logits, cross-entropy and, in training, their gradients, walked in row
// chunks so that the (B·T, V) logits never exist whole.
#pragma once

#include "program/builder.h"

namespace snug {

// Rows of one GEMM of the loss head. Chunk borders fall on these tiles of a sequence, so the chunk
// size cannot change the order of any sum.
std::int64_t loss_tile_rows(std::int64_t block_size);

// Rows of logits held at once: whole tiles, at least one, at most all of the batch's rows.
// `wanted_rows` 0 chooses: as many tiles as fit kLossChunkBytes.
std::int64_t loss_chunk_rows(std::int64_t batch_size, std::int64_t block_size,
                             std::int64_t vocab_size, std::int64_t wanted_rows, DType dtype);

// Losses only.
void emit_loss(ProgramBuilder& builder, TensorId stream, std::int64_t wanted_rows);

// Losses, the head's parameter gradients, and the gradient of `stream` as a new tensor.
TensorId emit_loss_and_gradient(ProgramBuilder& builder, TensorId stream, std::int64_t wanted_rows);

}  // namespace snug
