// Executor on a card: one arena there and one in pinned memory, exactly as large as planned; every
// tensor bound to its place, every product chosen before the first step. Ops are started on one
// stream in the program's order; the host waits only for what it reads or overwrites.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/op_rows.h"
#include "backend/cuda/resources.h"
#include "backend/cuda/started_ops.h"
#include "plan/plan.h"

namespace snug::cuda {

struct ExecutorSettings {
  int capability = 80;        // of the card: 86 for 8.6
  bool tf32 = false;          // float32 products may round their operands to 10 bits
  bool refuses_late = false;  // what the card cannot do is thrown when its op runs
};

class CudaExecutor : public backend::Executor {
 public:
  // Takes the plan's memory on the current card. `program` and `plan` must outlive the executor.
  // Throws CapacityError when the memory is refused, DeviceError for what the card cannot do.
  CudaExecutor(const program::Program& program, const plan::Plan& plan,
               const ExecutorSettings& settings);

  // Waits for what is under way: it uses the memory that goes now.
  ~CudaExecutor() override { cudaStreamSynchronize(stream()); }

  void run(const program::Phase& phase, const backend::StepContext& context) override;
  // Throw InternalError for a tensor on the card.
  void write(TensorId id, std::int64_t offset, std::span<const std::byte> bytes) override;
  void read(TensorId id, std::int64_t offset, std::span<std::byte> bytes) override;
  void wait() override;
  double measure_peak_flops() override;
  double measure_byte_rate() override;
  std::vector<backend::TimedOp> time_ops(const std::function<void()>& work) override;

  // One op of a phase, over these rows.
  void run_one(const program::Phase& phase, std::size_t op, const backend::StepContext& context,
               std::int64_t first_row, std::int64_t end_row);

  // For ops that are being started.
  cudaStream_t stream() const { return stream_.get(); }
  TensorCores tensor_cores() const {
    return settings_.capability < 80 ? TensorCores::kTuring : TensorCores::kAmpere;
  }
  // Null for kNoTensor. Throws InternalError for a tensor that has no place.
  std::byte* address(TensorId id) const;
  void copy(TensorId from, TensorId to);
  // The host's turn in a load or save phase; pieces go through `staging`.
  void transfer(TensorId staging, const backend::StepContext& context);

  const CudaArena& arena() const { return arena_; }

  // Called after every op was started, in the loss head once per chunk, and again for the second of
  // two that run as one; for tests and measurements.
  using Observer = std::function<void(const program::Phase&, const ops::Op&, std::int64_t first_row,
                                      std::int64_t end_row)>;
  void observe(Observer observer) { observer_ = std::move(observer); }
  // Called before an op is started, with the other of two that run as one (else null), the scratch
  // that it was granted and its first row; for checks of what kernels touch.
  using StartObserver = std::function<void(const ops::Op&, const ops::Op* next,
                                           std::span<std::byte> scratch, std::int64_t first_row)>;
  void observe_starts(StartObserver observer) { start_observer_ = std::move(observer); }

 private:
  struct BoundOp {
    ops::Shapes shapes;
    void (*run)(const OpRun&) = nullptr;
    std::unique_ptr<Prepared> prepared;
    std::span<std::byte> scratch;
    bool runs_with_next = false, ran_with_previous = false;
    std::string refusal;  // why the card cannot do it, where that is told late
  };
  class StagedBytes;

  std::unique_ptr<Prepared> prepare(const OpRow& row, const OpQuestion& question,
                                    std::string& refusal);
  BoundOp bind(const program::Phase& phase, std::size_t p, std::size_t op);
  void bind_together(std::size_t phase);
  bool share_bytes(TensorId a, TensorId b) const;
  void run_op(std::size_t phase, std::size_t op, const backend::StepContext& context,
              std::int64_t first_row, std::int64_t end_row);
  std::byte* bytes_at(TensorId id, std::int64_t offset, std::int64_t byte_count) const;
  // Throws DeviceError, naming what was under way, unless the call succeeded.
  void require_done(cudaError_t result) const;

  const program::Program& program_;
  const plan::Plan& plan_;
  const ExecutorSettings settings_;
  CudaArena arena_;
  std::optional<CudaArena> pinned_;
  Stream stream_;
  GemmCache gemms_;
  std::vector<std::vector<BoundOp>> bound_;  // per phase, per op
  // Of every tensor that the host shares with the card: when its last copy is done, and the phase
  // whose copy that is.
  struct HostTensor {
    TensorId id;
    std::size_t phase;
    Event copied;
    std::int64_t copied_by = 0;  // number of the op, see StartedOps
  };
  HostTensor& host_tensor(TensorId id);
  void wait_for(const HostTensor& tensor);

  std::vector<HostTensor> host_tensors_;
  StartedOps started_;
  Observer observer_;
  StartObserver start_observer_;
};

}  // namespace snug::cuda
