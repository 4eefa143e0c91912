// A device that the host cannot look into, as an example of one and as a proof of the seam: its
// arena lies in pages that fault unless the executor itself is at work on them, it has a capacity,
// and run() returns before anything is done. Inside it computes with the CPU's kernels, so that its
// results are the CPU's, bit for bit.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "backend/cpu/cpu_executor.h"
#include "device/cpu_device.h"

namespace snug {

class RemoteExecutor : public Executor {
 public:
  RemoteExecutor(const Program& program, const Plan& plan);
  ~RemoteExecutor() override;

  // Kept until the next call, and done then.
  void run(const Phase& phase, const StepContext& context) override;
  void write(TensorId id, std::int64_t offset, std::span<const std::byte> bytes) override;
  void read(TensorId id, std::int64_t offset, std::span<std::byte> bytes) override;
  void wait() override;
  double measure_peak_flops() override;

  // For tests that look inside a step: their observers run while the pages can be reached.
  cpu::CpuExecutor& inner() { return inner_; }

 private:
  class Reachable;
  class StagedBytes;
  struct Started {
    const Phase* phase;
    StepContext context;
  };

  void run_transfer_phase(const Started& work);

  cpu::CpuExecutor inner_;
  std::optional<Started> started_;
  int reachable_depth_ = 0;
  std::vector<std::byte> staging_;  // what transfers go through
};

class RemoteDevice : public Device {
 public:
  explicit RemoteDevice(const Config& config,
                        std::int64_t capacity_bytes = std::numeric_limits<std::int64_t>::max());

  const Target& target() const override { return cpu_.target(); }
  Rates rates(const Config& config, std::int64_t vocab_size) const override;
  // Throws CapacityError when the plan's arena is larger than the capacity.
  std::unique_ptr<Executor> make_executor(const Program& program, const Plan& plan) const override;

 private:
  CpuDevice cpu_;
  std::int64_t capacity_bytes_;
};

}  // namespace snug
