// One op being run: its operands as pointers, and the mapping from OpKind to kernel. Internal to
// the CPU executor.
#pragma once

#include "backend/cpu/cpu_executor.h"

namespace snug::cpu {

struct OpRun {
  CpuExecutor& executor;
  const Phase& phase;
  const Op& op;
  const StepContext& context;
  Scratch scratch;  // granted: what the op booked or more
  const LinearCalls& linear;
  std::int64_t first_row, end_row;  // the rows to work on, within the sequences in use

  const Program& program() const { return executor.program_; }
  const KernelTable& kernels() const { return executor.kernels_; }
  const Tensor& tensor(TensorId id) const { return executor.program_.tensor(id); }

  // Operands by position; null where the op has none there.
  float* read(std::size_t i) const { return f32(op.reads[i]); }
  float* write(std::size_t i) const { return f32(op.writes[i]); }
  std::int32_t* read_i32(std::size_t i) const { return executor.view(op.reads[i]).i32(); }
  std::int32_t* write_i32(std::size_t i) const { return executor.view(op.writes[i]).i32(); }
  float* f32(TensorId id) const { return id == kNoTensor ? nullptr : executor.view(id).f32(); }

  std::int64_t B() const { return context.sequence_count; }
  std::int64_t T() const { return phase.block_size; }
  // The last dimension of an operand.
  std::int64_t width(TensorId id) const {
    const Shape& shape = tensor(id).shape;
    return shape[shape.rank() - 1];
  }
  // In the loss head one operand, the logits, holds only the chunk's rows.
  std::int64_t logits_row() const {
    return op.chunk_rows > 0 || op.row_from_context ? first_row : 0;
  }

  Dropout dropout() const;
};

using OpFunction = void (*)(const OpRun&);

void run_linear(const OpRun& run);
void run_linear_dx(const OpRun& run);
void run_linear_dw(const OpRun& run);

// Throws InternalError naming the op where the CPU has no kernel for it.
OpFunction op_function(const Op& op);

}  // namespace snug::cpu
