// One op being run: its operands as pointers, the rows to work on, its scratch.
#pragma once

#include "backend/cpu/cpu_executor.h"

namespace snug::cpu {

struct OpRun {
  const CpuExecutor& executor;
  const ops::Op& op;
  const ops::Shapes& shapes;
  const backend::StepContext& context;
  Scratch scratch;                  // granted: what the op booked or more
  const Prepared* prepared;         // null where its row prepares nothing
  int threads;                      // that scratch was booked for
  std::int64_t first_row, end_row;  // the rows to work on, within the sequences in use

  const KernelTable& kernels() const { return executor.kernels(); }
  TensorView view(TensorId id) const { return executor.view(id); }
  float* f32(TensorId id) const { return id == kNoTensor ? nullptr : view(id).f32(); }
  template <class X>
  X* data(TensorId id) const {
    return id == kNoTensor ? nullptr : view(id).as<X>();
  }
  std::int32_t* i32(TensorId id) const { return view(id).i32(); }

  std::int64_t B() const { return context.sequence_count; }
  std::int64_t T() const { return shapes.block_size; }
  std::int64_t rows() const { return B() * T(); }
  std::int64_t width(TensorId id) const { return shapes.width(id); }

  Dropout dropout(std::uint32_t site) const;
};

}  // namespace snug::cpu
