// One op being started: its operands as pointers to the card's memory, the rows to work on, its
// scratch, its stream.
#pragma once

#include "backend/backend.h"
#include "backend/cuda/cuda_executor.h"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/op_rows.h"

namespace snug::cuda {

struct OpRun {
  CudaExecutor& executor;
  const ops::Op& op;
  const ops::Shapes& shapes;
  const backend::StepContext& context;
  std::byte* scratch;               // what the op booked
  const Prepared* prepared;         // null where its row prepares nothing
  std::int64_t first_row, end_row;  // the rows to work on, within the sequences in use
  const ops::Op* next;              // the op after it, where both are run as one; else null

  cudaStream_t stream() const { return executor.stream(); }
  // Null for kNoTensor.
  void* data(TensorId id) const { return executor.address(id); }
  float* f32(TensorId id) const { return static_cast<float*>(data(id)); }
  std::int32_t* i32(TensorId id) const { return static_cast<std::int32_t*>(data(id)); }
  DType dtype(TensorId id) const { return shapes.tensor(id).dtype; }

  std::int64_t B() const { return context.sequence_count; }
  std::int64_t T() const { return shapes.block_size; }
  std::int64_t rows() const { return B() * T(); }
  std::int64_t width(TensorId id) const { return shapes.width(id); }

  Dropout dropout(std::uint32_t site) const;
};

}  // namespace snug::cuda
