// nanoGPT's learning-rate schedule: linear warm-up, cosine decay, then a floor.
#pragma once

#include <cstdint>

#include "config/config.h"

namespace snug::train {

double learning_rate_at(const config::Config& config, std::int64_t iteration);

}  // namespace snug::train
