// Where the time of an iteration goes, op by op: a run on random tokens is watched.
#pragma once

#include <memory>

#include "config/config.h"
#include "device/device.h"
#include "profile/op_times.h"

namespace snug::profile {

// Plans and runs the config on `device` for about `seconds`; vocab_size must be set. Throws
// CapacityError where it does not fit.
StepProfile profile_steps(const config::Config& config, std::unique_ptr<device::Device> device,
                          double seconds);

}  // namespace snug::profile
