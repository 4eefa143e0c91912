// Which device a config means.
#pragma once

#include <memory>
#include <string>

#include "config/config.h"
#include "device/device.h"

namespace snug::device {

// The one to plan for: the card that `card` names, which need not be here; else the one that a run
// would start on, with what is free of it now. From card, device, dtype, memory_budget and
// headroom. Says in the config's notices what it had to assume, and puts the card's own 16-bit type
// where dtype was left to Snug. Throws ConfigError for a card that is not known.
std::unique_ptr<Device> device_to_plan(config::LoadedConfig& config);

// The one that a run starts on now. Its budget is no more than what is available, whatever
// memory_budget says. Throws DeviceError, which names the way out, for a device or card that cannot
// be used.
std::unique_ptr<Device> device_to_run(const config::Config& config);

// Whether that device is a card, of this machine or emulated. With device = 'auto' it is the first
// card, where this build has a CUDA backend and the driver finds one.
bool runs_on_card(const config::Config& config);

// Why device = 'auto' is the processor here, in a few words.
std::string why_processor();

// Where dtype = 'auto' was asked for: the precision that this processor trains fastest in, said in
// the config's notices. Nothing where dtype was given or left out, which is float32.
void settle_processor_dtype(config::LoadedConfig& config);

// On a card 16 bits are the default, and the type is one that it has. Returns the line that says so
// where another was wanted; "": nothing to say.
std::string settle_card_dtype(config::LoadedConfig& config, const Device& card);

// Throws as device_to_run does, and looks at nothing but the config.
void require_runnable(const config::Config& config);

}  // namespace snug::device
