// Where the time of an iteration goes on a card, op by op, beside what the fit predicts of it.
#pragma once

#include "config/config.h"
#include "device/device.h"
#include "train/step_profile.h"

namespace snug::train {

// Plans and runs the config on `card` for about `seconds`, on random tokens; vocab_size must be
// set. Throws CapacityError where it does not fit.
StepProfile profile_card(const config::Config& config, std::unique_ptr<device::Device> card,
                         double seconds);

}  // namespace snug::train
