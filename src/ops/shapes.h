// Shapes: the sizes that an op works with where it stands in a program. All that is derived of an
// op (arithmetic, traffic, scratch, products) is derived from these.
#pragma once

#include <span>

#include "base/tensor.h"

namespace snug::ops {

// Part of a phase that runs once per chunk of the batch's rows, so that what has one row per token
// and is wide (the logits) never exists whole. A row is one token of one sequence.
struct RowLoop {
  std::size_t first_op = 0, end_op = 0;  // of the phase's ops
  std::int64_t chunk_rows = 0;           // at most so many rows at a time
  // Chunks end on multiples of this within a sequence, so that they never cut a product in two.
  std::int64_t tile_rows = 0;

  bool contains(std::size_t op) const { return first_op <= op && op < end_op; }
  // Where the chunk that starts at row `first` ends, for sequences of T rows.
  std::int64_t chunk_end(std::int64_t first, std::int64_t T, std::int64_t total_rows) const;
};

struct Shapes {
  std::span<const Tensor> tensors;
  std::int64_t batch_size = 0;    // sequences of the phase
  std::int64_t block_size = 0;    // rows of a sequence
  const RowLoop* loop = nullptr;  // that the op is part of

  const Tensor& tensor(TensorId id) const { return tensors[static_cast<std::size_t>(id)]; }
  const Shape& shape(TensorId id) const { return tensor(id).shape; }
  // The last dimension.
  std::int64_t width(TensorId id) const { return shape(id)[shape(id).rank() - 1]; }
  double bytes(TensorId id) const {
    return id == kNoTensor ? 0 : static_cast<double>(tensor(id).byte_count());
  }
  std::int64_t row_count() const { return checked_mul(batch_size, block_size); }
};

}  // namespace snug::ops
