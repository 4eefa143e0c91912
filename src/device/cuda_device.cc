#include "device/cuda_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "backend/cuda/nvml.h"
#include "base/bytes.h"
#include "base/error.h"

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

// What others hold of the card, as far as the driver tells: "firefox 512.00 MiB, ...".
std::string holders(int index) {
  std::string text;
  for (const cuda::CardReading& card : cuda::Nvml().read().cards) {
    if (card.index != index) continue;
    for (const cuda::CardProcess& process : card.processes) {
      text += fmt::format("{}pid {}{}", text.empty() ? "" : ", ", process.pid,
                          process.bytes ? " with " + format_bytes(*process.bytes) : "");
    }
  }
  return text;
}

// The rates of a card that nobody has listed: those of the assumed one.
constexpr std::string_view kAssumedCard = "rtx3060";

}  // namespace

CudaDevice::CudaDevice(const config::Config& config)
    : Device({}),
      open_(cuda::open_card(index_of(config.device), config.card)),
      known_(config.card.empty() ? fit::find_card(open_.name) : fit::find_card(config.card)),
      target_(open_.has_bfloat16()) {
  budget_ = budget_of(config, open_);
}

fit::Rates CudaDevice::rates(const config::Config&, std::int64_t) const {
  return fit::card_rates(known_ != nullptr ? *known_ : fit::card_named(kAssumedCard));
}

std::unique_ptr<backend::Executor> CudaDevice::make_executor(const program::Program& program,
                                                             const plan::Plan& plan) const {
  try {
    return cuda::make_executor(open_, program, plan, {});
  } catch (const CapacityError& error) {
    const std::string others = holders(open_.index);
    if (others.empty()) throw;
    throw CapacityError(fmt::format("{}\non the card now: {}", error.what(), others));
  }
}

}  // namespace snug::device
