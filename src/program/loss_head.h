// The loss head: logits, cross-entropy and, in training, their gradients, in a loop over row chunks
// so that the (B·T, V) logits never exist whole.
#pragma once

#include "program/network.h"

namespace snug::program {

// Rows of one product of the loss head. Chunk borders fall on these tiles of a sequence, so the
// chunk size cannot change the order of any sum.
std::int64_t loss_tile_rows(std::int64_t block_size);

// Rows of logits held at once: whole tiles, at least one, at most all of the batch's rows.
// `wanted_rows` 0 chooses: as many tiles as fit kLossChunkBytes.
std::int64_t loss_chunk_rows(std::int64_t batch_size, std::int64_t block_size,
                             std::int64_t vocab_size, std::int64_t wanted_rows, DType dtype);

// Losses of `normed`, what the pass's final_norm() gave.
void emit_loss(ProgramBuilder& builder, const Pass& pass, TensorId normed,
               std::int64_t wanted_rows);

// The same, and their gradients: the head weight's is added up, that of `normed` takes its place.
void emit_loss_and_gradient(ProgramBuilder& builder, const Pass& pass, TensorId normed,
                            std::int64_t wanted_rows);

}  // namespace snug::program
