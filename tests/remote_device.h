// A device that the host cannot look into, as an example of one and as a proof of the seam: its
// arena lies in pages that fault unless the executor itself is at work on them, the host reaches
// twins in pinned memory only, it has a capacity, and run() returns before anything is done. Inside
// it computes with the CPU's kernels, so that its results are the CPU's, bit for bit.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "backend/cpu/cpu_executor.h"
#include "device/cpu_device.h"

namespace snug {

// What the CPU needs, in a space of the device's own.
class RemoteTarget : public program::Target {
 public:
  explicit RemoteTarget(const program::Target& cpu) : cpu_(cpu) {}

  std::int64_t scratch_bytes(const ops::Op& op, const ops::Shapes& shapes) const override {
    return cpu_.scratch_bytes(op, shapes);
  }
  int threads() const override { return cpu_.threads(); }
  Space space() const override { return Space::kDevice; }
  Space host_side() const override { return Space::kPinned; }
  DType compute_dtype(DType wanted) const override { return cpu_.compute_dtype(wanted); }
  std::int64_t overhead_bytes(const program::Program& program) const override {
    return cpu_.overhead_bytes(program);
  }

 private:
  const program::Target& cpu_;
};

class RemoteExecutor : public backend::Executor {
 public:
  RemoteExecutor(const program::Program& program, const plan::Plan& plan);
  ~RemoteExecutor() override;

  // Kept until the next call, and done then.
  void run(const program::Phase& phase, const backend::StepContext& context) override;
  // Throw InternalError for a tensor in the device's own space.
  void write(TensorId id, std::int64_t offset, std::span<const std::byte> bytes) override;
  void read(TensorId id, std::int64_t offset, std::span<std::byte> bytes) override;
  void wait() override;
  double measure_peak_flops() override;
  double measure_byte_rate() override;
  std::vector<backend::TimedOp> time_ops(const std::function<void()>& work) override;

  // For tests that look inside a step: their observers run while the pages can be reached.
  cpu::CpuExecutor& inner() { return inner_; }

 private:
  class Reachable;
  class StagedBytes;
  struct Started {
    const program::Phase* phase;
    backend::StepContext context;
  };

  void run_transfer_phase(const Started& work);
  void require_shared(TensorId id) const;

  const program::Program& program_;
  cpu::CpuExecutor inner_;
  std::optional<Started> started_;
  int reachable_depth_ = 0;
};

class RemoteDevice : public device::Device {
 public:
  explicit RemoteDevice(const config::Config& config,
                        std::int64_t capacity_bytes = std::numeric_limits<std::int64_t>::max());

  const program::Target& target() const override { return target_; }
  fit::Rates rates(const config::Config& config, std::int64_t vocab_size) const override;
  // Throws CapacityError when the plan's arena is larger than the capacity.
  std::unique_ptr<backend::Executor> make_executor(const program::Program& program,
                                                   const plan::Plan& plan) const override;

 private:
  device::CpuDevice cpu_;
  RemoteTarget target_;
  std::int64_t capacity_bytes_;
};

}  // namespace snug
