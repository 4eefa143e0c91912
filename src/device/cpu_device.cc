#include "device/cpu_device.h"

#include <algorithm>

#include "backend/cpu/cpu_executor.h"
#include "backend/cpu/threads.h"
#include "device/cpu_rates.h"
#include "machine/host_memory.h"

namespace snug {

CpuDevice::CpuDevice(const Config& config)
    : Device({}), target_(cpu::thread_count(config.threads)) {
  const HostMemory memory = host_memory();
  available_bytes_ = memory.available_bytes;
  const bool is_asked_for = config.memory_budget != "auto";
  budget_ = plain_budget(budget_bytes(config.memory_budget, memory),
                         is_asked_for ? BudgetSource::kMemoryBudget : BudgetSource::kAvailable,
                         config.headroom);
  if (!is_asked_for) budget_.limited_by = memory.limited_by;
  budget_.memory_bytes = memory.total_bytes;
}

void CpuDevice::limit_to_available() {
  // A plan's total holds what this process has already.
  const std::int64_t maximum = available_bytes_ + resident_bytes();
  if (budget_.usable_bytes <= maximum) return;
  budget_.usable_bytes = maximum;
  budget_.source = BudgetSource::kAvailableBelowRequest;
}

Rates CpuDevice::rates(const Config& config, std::int64_t vocab_size) const {
  return measure_cpu_rates(config, vocab_size, target_,
                           std::min(available_bytes_, budget_.usable_bytes));
}

std::unique_ptr<Executor> CpuDevice::make_executor(const Program& program, const Plan& plan) const {
  return std::make_unique<cpu::CpuExecutor>(program, plan);
}

}  // namespace snug
