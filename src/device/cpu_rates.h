// How fast this machine runs the ops of a model, measured with the real kernels on one block of it.
#pragma once

#include "backend/cpu/cpu_target.h"
#include "config/config.h"
#include "fit/rates.h"

namespace snug::device {

// Runs a one-block model of `config`'s width (768 at most), context (512 at most) and vocabulary
// (2048 at most) on up to 8192 tokens, the more the narrower it is, for about a third of a second,
// in memory that is given back: at most `available_bytes` / 4, or a few hundred KiB where that is
// less. With little memory the model is narrower and its context shorter.
fit::Rates measure_cpu_rates(const config::Config& config, std::int64_t vocab_size,
                             const cpu::CpuTarget& target, std::int64_t available_bytes);

}  // namespace snug::device
