// The device that a run is planned for: this machine's processor, or a card that need not be here.
#pragma once

#include <memory>

#include "config/config.h"
#include "fit/budget.h"
#include "fit/rates.h"

namespace snug {

struct PlannedDevice {
  std::unique_ptr<Target> target;
  const Card* card = nullptr;  // null: the processor
  Budget budget;
  int threads = 0;                   // processor only
  std::int64_t available_bytes = 0;  // processor only: what measuring may use a part of
};

// From card, device, dtype, memory_budget and headroom. Says in the config's notices what it had
// to assume, and puts the card's own 16-bit type where dtype was left to Snug. Throws ConfigError
// for a card that is not known.
PlannedDevice planned_device(LoadedConfig& config);

// The processor, whatever card the config names: where `train` runs.
PlannedDevice processor(const Config& config);

// The same for a run that starts now: no more than is available, whatever memory_budget says.
PlannedDevice processor_now(const Config& config);

// A card's from its figures; the processor's are measured, which takes a third of a second.
Rates device_rates(const PlannedDevice& device, const Config& config, std::int64_t vocab_size);

}  // namespace snug
