// Dynamic loss scaling for float16, as torch.amp.GradScaler does it with its defaults: gradients
// are multiplied by a factor that grows until one of them overflows. The numbers are in
// checkpoint::LossScale, which a checkpoint holds.
#pragma once

#include "checkpoint/manifest.h"

namespace snug::train {

// GradScaler's growth_factor, backoff_factor and growth_interval.
constexpr double kLossScaleGrowth = 2, kLossScaleBackoff = 0.5;
constexpr std::int64_t kLossScaleInterval = 2000;

// After an iteration: with a gradient that is not finite its update was skipped and the factor
// falls; after kLossScaleInterval updates in a row it grows, unless that would make it infinite (as
// a float, which it is in torch).
void adapt_loss_scale(checkpoint::LossScale& scale, bool all_finite);

}  // namespace snug::train
