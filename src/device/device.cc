#include "device/device.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/cpu/cpu_target.h"
#include "backend/cuda/cuda_target.h"
#include "base/bytes.h"
#include "base/error.h"
#include "config/fields.h"
#include "config/pretrained.h"
#include "device/cpu_rates.h"
#include "machine/host_memory.h"

namespace snug {
namespace {

constexpr std::string_view kAssumedCard = "rtx3060";  // the card that most users have

const Card* card_of(LoadedConfig& config) {
  const Config& values = config.values;
  if (!values.card.empty()) {
    if (values.device == "cpu") {
      throw_config_error(config, "card",
                         fmt::format("card = '{}' contradicts device = 'cpu'", values.card),
                         "leave one of the two out");
    }
    return &card_named(values.card);
  }
  if (!values.device.starts_with("cuda")) return nullptr;
  const Card& card = card_named(kAssumedCard);
  config.notices.push_back(fmt::format(
      "no card is named: planned for a {}; --card=NAME plans for yours, `snug cards` lists them",
      card.name));
  return &card;
}

// The card's own 16-bit type where Snug may choose; a word where the user chose one it has not.
void settle_dtype(LoadedConfig& config, const Card& card) {
  if (card.bf16_tflops > 0 || config.values.dtype != "bfloat16") return;
  if (!is_derived(config, field_of(&Config::dtype))) {
    config.notices.push_back(
        fmt::format("{} has no bfloat16: planned with float16, which takes the same bytes and "
                    "needs loss scaling",
                    card.name));
  }
  config.values.dtype = "float16";
  config.derived.erase("dtype");  // or resolve() would derive it anew, without the card's figures
}

std::string origin_of(const Config& config, const HostMemory& memory) {
  if (config.memory_budget != "auto") return "memory_budget";
  return fmt::format("available now (limited by the {})", memory.limited_by);
}

}  // namespace

PlannedDevice processor(const Config& config) {
  PlannedDevice device;
  device.threads = cpu::use_threads(config.threads);
  device.target = std::make_unique<cpu::CpuTarget>(device.threads);
  const HostMemory memory = host_memory();
  device.available_bytes = memory.available_bytes;
  device.budget = plain_budget(budget_bytes(config.memory_budget, memory),
                               origin_of(config, memory), config.headroom);
  device.budget.memory_bytes = memory.total_bytes;
  return device;
}

PlannedDevice processor_now(const Config& config) {
  PlannedDevice device = processor(config);
  // A plan's total holds what this process has already.
  const std::int64_t most = device.available_bytes + resident_bytes();
  if (device.budget.usable_bytes > most) {
    device.budget.usable_bytes = most;
    device.budget.origin = "available now, less than the memory_budget";
  }
  return device;
}

PlannedDevice planned_device(LoadedConfig& config) {
  const Card* card = card_of(config);
  if (card == nullptr) {
    PlannedDevice device = processor(config.values);
    if (device.budget.usable_bytes > device.available_bytes) {
      config.notices.push_back(
          fmt::format("planned for a larger machine: of this one's memory {} is available now",
                      format_bytes(device.available_bytes)));
    }
    return device;
  }
  settle_dtype(config, *card);
  PlannedDevice device;
  device.card = card;
  device.target = std::make_unique<cuda::CudaTarget>(card->bf16_tflops > 0);
  device.budget = card_budget(*card, config.values.memory_budget, config.values.headroom);
  return device;
}

Rates device_rates(const PlannedDevice& device, const Config& config, std::int64_t vocab_size) {
  if (device.card != nullptr) return card_rates(*device.card);
  return measure_rates(config, vocab_size, device.threads,
                       std::min(device.available_bytes, device.budget.usable_bytes));
}

}  // namespace snug
