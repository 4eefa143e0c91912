#include "device/cuda_device.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "backend/cuda/nvml.h"
#include "base/bytes.h"
#include "machine/wsl.h"

namespace snug::device {
namespace {

// "cuda:1" is card 1; without a number the first.
int index_of(const std::string& device) {
  const std::size_t colon = device.find(':');
  int index = 0;
  if (colon != std::string::npos) {
    std::from_chars(device.data() + colon + 1, device.data() + device.size(), index);
  }
  return index;
}

// memory_budget is a limit of its own; more than is free it cannot be.
fit::Budget budget_of(const config::Config& config, const cuda::OpenCard& card) {
  const bool is_asked_for = config.memory_budget != "auto";
  std::int64_t wanted = card.free_bytes;
  if (is_asked_for) {
    if (const auto percent = parse_percent(config.memory_budget)) {
      wanted = static_cast<std::int64_t>(static_cast<double>(card.total_bytes) * *percent / 100);
    } else if (const auto bytes = parse_bytes(config.memory_budget)) {
      wanted = *bytes;
    }
  }
  const bool is_less = wanted > card.free_bytes;
  const fit::BudgetSource source = !is_asked_for ? fit::BudgetSource::kAvailable
                                   : is_less     ? fit::BudgetSource::kAvailableBelowRequest
                                                 : fit::BudgetSource::kMemoryBudget;
  fit::Budget budget =
      fit::plain_budget(std::min(wanted, card.free_bytes), source, config.headroom);
  budget.memory_bytes = card.total_bytes;
  budget.limited_by = card.name;
  return budget;
}

// float32 as nanoGPT lets PyTorch multiply it: operands of products rounded to 10 bits.
constexpr std::string_view kTf32 = "tf32";

}  // namespace

CudaDevice::CudaDevice(const config::Config& config)
    : Device({}),
      config_(config),
      open_(cuda::open_card(index_of(config.device), config.card)),
      settings_{.tf32 = config.dtype == kTf32},
      known_(config.card.empty() ? fit::find_card(open_.name) : fit::find_card(config.card)),
      target_(open_.has_bfloat16()) {
  budget_ = budget_of(config, open_);
}

fit::Rates CudaDevice::rates(const config::Config&, std::int64_t) const {
  return fit::card_rates(known_ != nullptr ? *known_ : fit::assumed_card());
}

std::unique_ptr<backend::Executor> CudaDevice::make_executor(const program::Program& program,
                                                             const plan::Plan& plan) const {
  return cuda::make_executor(open_, program, plan, settings_);
}

void CudaDevice::refresh_budget() {
  open_.free_bytes =
      std::max<std::int64_t>(0, cuda::free_bytes_now(open_) - cuda::kLoadedLaterBytes);
  budget_ = budget_of(config_, open_);
}

std::optional<CardFacts> CudaDevice::card_facts() const {
  CardFacts facts;
  facts.name = open_.name;
  facts.index = open_.index;
  facts.is_emulated = cuda::card_device() == "emulated";
  facts.total_bytes = open_.total_bytes;
  facts.free_bytes = open_.free_bytes;
  // What the driver says of the machine's own cards is nothing about an emulated one.
  if (!facts.is_emulated || std::getenv("SNUG_NVML") != nullptr) {
    facts.holders = holders_of(open_, cuda::Nvml().read());
  }
  facts.may_spill_to_host = !facts.is_emulated && machine::is_wsl();
  return facts;
}

}  // namespace snug::device
