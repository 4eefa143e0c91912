// Which device a config means.
#pragma once

#include <memory>

#include "config/config.h"
#include "device/device.h"

namespace snug {

// The one to plan for: this machine's processor, or a card that need not be here. From card,
// device, dtype, memory_budget and headroom. Says in the config's notices what it had to assume,
// and puts the card's own 16-bit type where dtype was left to Snug. Throws ConfigError for a card
// that is not known.
std::unique_ptr<Device> device_to_plan(LoadedConfig& config);

// The one that a run starts on now. Its budget is no more than what is available, whatever
// memory_budget says. Throws DeviceError, which names the way out, for a device or card that cannot
// be used.
std::unique_ptr<Device> device_to_run(const Config& config);

// Throws as device_to_run does, and looks at nothing but the config.
void require_runnable(const Config& config);

}  // namespace snug
