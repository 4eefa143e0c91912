// Runs a planned Program on the CPU, in the arena that the plan sized.
#pragma once

#include <chrono>
#include <functional>

#include "backend/backend.h"
#include "backend/cpu/arena.h"
#include "backend/cpu/gemm.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/op_rows.h"
#include "backend/cpu/tensor_view.h"
#include "plan/plan.h"

namespace snug::cpu {

class CpuExecutor : public backend::Executor {
 public:
  // Binds every tensor and prepares every product; from here on nothing allocates. `program` and
  // `plan` must outlive the executor.
  CpuExecutor(const program::Program& program, const plan::Plan& plan,
              const KernelTable& kernels = fast_kernels());

  void run(const program::Phase& phase, const backend::StepContext& context) override;
  void write(TensorId id, std::int64_t offset, std::span<const std::byte> bytes) override;
  void read(TensorId id, std::int64_t offset, std::span<std::byte> bytes) override;
  void wait() override {}  // run() returns when the work is done
  double measure_peak_flops() override;
  double measure_byte_rate() override;
  std::vector<backend::TimedOp> time_ops(const std::function<void()>& work) override;

  // One op of a phase, over these rows; for what compares op by op.
  void run_one(const program::Phase& phase, std::size_t op, const backend::StepContext& context,
               std::int64_t first_row, std::int64_t end_row);

  // The CPU's own: everywhere else a tensor is reached through write and read.
  TensorView view(TensorId id) const;
  // Throws InternalError unless the tensor has these bytes.
  std::byte* bytes(TensorId id, std::int64_t offset, std::int64_t byte_count) const;

  // The arena of the space that the ops compute in.
  const Arena& arena() const { return arena_; }
  const KernelTable& kernels() const { return kernels_; }

  // Called before every op, in the loss head once per chunk; for tests that look inside a step.
  // The rows are those that the op is about to work on.
  using Observer = std::function<void(const program::Phase&, const ops::Op&, std::int64_t first_row,
                                      std::int64_t end_row)>;
  void observe(Observer observer) { observer_ = std::move(observer); }

 private:
  // An op with all that it needs to run.
  struct BoundOp {
    ops::Shapes shapes;
    void (*run)(const OpRun&);
    std::unique_ptr<Prepared> prepared;
    Scratch scratch;
  };

  // What time_ops() watches.
  struct Timing {
    using Clock = std::chrono::steady_clock;
    Clock::time_point origin = Clock::now();
    std::vector<backend::TimedOp> ops;

    double seconds() const { return std::chrono::duration<double>(Clock::now() - origin).count(); }
  };

  BoundOp bind(std::size_t phase, std::size_t op);
  const Arena& arena_in(Space space) const;
  void run_op(std::size_t phase, std::size_t op, const backend::StepContext& context,
              std::int64_t first_row, std::int64_t end_row);

  const program::Program& program_;
  const plan::Plan& plan_;
  const KernelTable& kernels_;
  const int threads_;
  Arena arena_;
  std::vector<std::unique_ptr<Arena>> shared_arenas_;  // parallel to the plan's
  std::vector<TensorView> views_;
  GemmCache gemms_;
  std::vector<std::vector<BoundOp>> bound_;  // per phase, per op
  Observer observer_;
  Timing* timing_ = nullptr;  // while time_ops() works
};

}  // namespace snug::cpu
