// The processor of this machine as a Device: what is free of its memory, measured rates, and the
// executor that computes on it.
#pragma once

#include "backend/cpu/cpu_target.h"
#include "device/device.h"

namespace snug::device {

class CpuDevice : public Device {
 public:
  // From threads, memory_budget and headroom, and the memory that is available now. Throws
  // ConfigError for a memory_budget that is no amount of memory.
  explicit CpuDevice(const config::Config& config);

  const program::Target& target() const override { return target_; }
  fit::Rates rates(const config::Config& config, std::int64_t vocab_size) const override;
  std::unique_ptr<backend::Executor> make_executor(const program::Program& program,
                                                   const plan::Plan& plan) const override;

  // "AMX" where products go through it, else oneDNN's choice; then that of Snug's own kernels.
  std::string instruction_set() const override;

  // What a new process could take when the device was made.
  std::int64_t available_bytes() const { return available_bytes_; }
  // For a run that starts now: no more than is available, whatever memory_budget says.
  void limit_to_available();

 private:
  cpu::CpuTarget target_;
  std::int64_t available_bytes_;
};

}  // namespace snug::device
