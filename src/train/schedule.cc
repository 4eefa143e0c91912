#include "train/schedule.h"

#include <cmath>
#include <numbers>

namespace snug::train {

double learning_rate_at(const config::Config& config, std::int64_t iteration) {
  if (!config.decay_lr) return config.learning_rate;
  if (iteration < config.warmup_iters) {
    return config.learning_rate * static_cast<double>(iteration + 1) /
           static_cast<double>(config.warmup_iters + 1);
  }
  if (iteration > config.lr_decay_iters) return config.min_lr;
  const std::int64_t span = config.lr_decay_iters - config.warmup_iters;
  // nanoGPT divides by zero when both are equal; the decay is over then.
  if (span == 0) return config.min_lr;
  const double done =
      static_cast<double>(iteration - config.warmup_iters) / static_cast<double>(span);
  const double share = 0.5 * (1.0 + std::cos(std::numbers::pi * done));
  return config.min_lr + share * (config.learning_rate - config.min_lr);
}

}  // namespace snug::train
