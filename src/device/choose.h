// Which device a config means.
#pragma once

#include <memory>

#include "config/config.h"
#include "device/device.h"

namespace snug::device {

// The one to plan for: this machine's processor, or a card that need not be here. From card,
// device, dtype, memory_budget and headroom. Says in the config's notices what it had to assume,
// and puts the card's own 16-bit type where dtype was left to Snug. Throws ConfigError for a card
// that is not known.
std::unique_ptr<Device> device_to_plan(config::LoadedConfig& config);

// The one that a run starts on now. Its budget is no more than what is available, whatever
// memory_budget says. Throws DeviceError, which names the way out, for a device or card that cannot
// be used.
std::unique_ptr<Device> device_to_run(const config::Config& config);

// Whether that device is a card, of this machine or emulated. With device = 'auto' it is the first
// card, where this build has a CUDA backend and the driver finds one.
bool runs_on_card(const config::Config& config);

// Where dtype = 'auto' was asked for: the precision that this processor trains fastest in, said in
// the config's notices. Nothing where dtype was given or left out, which is float32.
void settle_processor_dtype(config::LoadedConfig& config);

// Throws as device_to_run does, and looks at nothing but the config.
void require_runnable(const config::Config& config);

}  // namespace snug::device
