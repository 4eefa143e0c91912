#include "device/cpu_device.h"

#include <algorithm>

#include "backend/cpu/cpu_executor.h"
#include "backend/cpu/processor_facts.h"
#include "backend/cpu/threads.h"
#include "base/bytes.h"
#include "device/cpu_rates.h"
#include "machine/host_memory.h"
#include "machine/process_limits.h"
#include "machine/processors.h"

namespace snug::device {

namespace {

// What oneDNN, OpenMP and the C library map beside stacks and tensors: 1.5 times what was seen, on
// AVX2, where oneDNN crashes with less.
constexpr std::int64_t kOwnAddressSpace = 24 * kMiB;

// Before the first call of a library that cannot be refused. More threads than a container's quota
// pays for would stop together in the middle of every period.
int possible_thread_count(const config::Config& config) {
  int count = cpu::thread_count(config.threads);
  if (config.threads == 0) count = machine::within_cpu_quota(count);
  machine::require_address_space(kOwnAddressSpace);
  machine::require_threads(count);
  return count;
}

}  // namespace

CpuDevice::CpuDevice(const config::Config& config)
    : Device({}), target_(possible_thread_count(config)) {
  const machine::HostMemory memory = machine::host_memory();
  available_bytes_ = memory.available_bytes;
  const bool is_asked_for = config.memory_budget != "auto";
  budget_ = fit::plain_budget(
      machine::budget_bytes(config.memory_budget, memory),
      is_asked_for ? fit::BudgetSource::kMemoryBudget : fit::BudgetSource::kAvailable,
      config.headroom);
  if (!is_asked_for) budget_.limited_by = memory.limited_by;
  budget_.memory_bytes = memory.total_bytes;
}

void CpuDevice::limit_to_available() {
  // A plan's total holds what this process has already.
  const std::int64_t maximum = available_bytes_ + machine::resident_bytes();
  if (budget_.usable_bytes <= maximum) return;
  budget_.usable_bytes = maximum;
  budget_.source = fit::BudgetSource::kAvailableBelowRequest;
}

fit::Rates CpuDevice::rates(const config::Config& config, std::int64_t vocab_size) const {
  return measure_cpu_rates(config, vocab_size, target_,
                           std::min(available_bytes_, budget_.usable_bytes));
}

std::unique_ptr<backend::Executor> CpuDevice::make_executor(const program::Program& program,
                                                            const plan::Plan& plan) const {
  return std::make_unique<cpu::CpuExecutor>(program, plan);
}

std::string CpuDevice::instruction_set() const {
  const cpu::ProcessorFacts facts = cpu::processor_facts();
  const std::string products = facts.products_on_amx ? "AMX" : facts.onednn_isa;
  return products + "/" + facts.kernels_isa;
}

}  // namespace snug::device
