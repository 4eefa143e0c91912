// Runs a planned Program on the CPU, in the arena that the plan sized.
#pragma once

#include <functional>

#include "backend/backend.h"
#include "backend/cpu/arena.h"
#include "backend/cpu/gemm.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/linear_shapes.h"
#include "base/tensor_view.h"
#include "plan/plan.h"

namespace snug::cpu {

// The prepared products of a linear op: one split product, or oneDNN's of a whole tile and of a
// sequence's shorter last one.
struct LinearCalls {
  bool split = false;
  LinearTiling tiling{};
  const Gemm* whole = nullptr;
  const Gemm* last = nullptr;
};

class CpuExecutor : public Executor {
 public:
  // Binds every tensor and prepares every product; from here on nothing allocates. `program` and
  // `plan` must outlive the executor.
  CpuExecutor(const Program& program, const Plan& plan,
              const KernelTable& kernels = fast_kernels());

  void run(const Phase& phase, const StepContext& context) override;
  void write(TensorId id, std::int64_t offset, std::span<const std::byte> bytes) override;
  void read(TensorId id, std::int64_t offset, std::span<std::byte> bytes) override;
  void wait() override {}  // run() returns when the work is done
  double measure_peak_flops() override;

  // The CPU's own: everywhere else a tensor is reached through write and read.
  TensorView view(TensorId id) const;

  const Arena& arena() const { return arena_; }

  // Called before every op, in the loss head once per chunk; for tests that look inside a step.
  // The rows are those that the op is about to work on.
  using Observer =
      std::function<void(const Phase&, const Op&, std::int64_t first_row, std::int64_t end_row)>;
  void observe(Observer observer) { observer_ = std::move(observer); }

 private:
  friend struct OpRun;

  LinearCalls prepare_linear(const Phase& phase, const Op& op);
  // Throws InternalError unless the tensor has these bytes.
  std::byte* place(TensorId id, std::int64_t offset, std::int64_t byte_count) const;
  void run_op(std::size_t phase, std::size_t op, const StepContext& context, std::int64_t first_row,
              std::int64_t end_row);

  const Program& program_;
  const Plan& plan_;
  const KernelTable& kernels_;
  const int threads_;
  Arena arena_;
  std::vector<TensorView> views_;
  std::vector<std::vector<LinearCalls>> linear_calls_;  // per phase, per op
  GemmCache gemms_;
  Observer observer_;
};

}  // namespace snug::cpu
