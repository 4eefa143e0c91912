#include "train/loss_scaler.h"

#include <cmath>

namespace snug::train {

void adapt_loss_scale(checkpoint::LossScale& scale, bool all_finite) {
  if (!all_finite) {
    scale.factor *= kLossScaleBackoff;
    scale.good_updates = 0;
    scale.skipped_updates += 1;
    return;
  }
  scale.good_updates += 1;
  if (scale.good_updates < kLossScaleInterval) return;
  const double grown = scale.factor * kLossScaleGrowth;
  if (std::isfinite(static_cast<float>(grown))) scale.factor = grown;
  scale.good_updates = 0;
}

}  // namespace snug::train
