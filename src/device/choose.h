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

// The one that a run starts on now: with device = 'auto' the first card, where this build has a
// CUDA backend and the driver finds one, else the processor. Its budget is no more than what is
// available, whatever memory_budget says. Throws DeviceError, which names the way out, for a device
// or card that cannot be used.
std::unique_ptr<Device> device_to_run(const config::Config& config);

// Why device = 'auto' is the processor here, in a few words.
std::string why_processor();

// The precision that a run on `device` computes in, said in the config's notices where it is not
// the one that was asked for. On a card 16 bits are the default, and the type is one that it has.
// On the processor float32 is, and dtype = 'auto' the one that it trains fastest in.
void settle_dtype(config::LoadedConfig& config, const Device& device);

// Throws as device_to_run does, and looks at nothing but the config.
void require_runnable(const config::Config& config);

}  // namespace snug::device
