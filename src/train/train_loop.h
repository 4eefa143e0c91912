// `snug train`: nanoGPT's training loop around the engine: schedule, evaluation, log lines, saving,
// resuming, signals.
#pragma once

#include <functional>

#include "backend/backend.h"
#include "config/config.h"
#include "console/console.h"

namespace snug::train {

// Runs `step`, one iteration's work on the executor, and may watch it.
using StepWatch = std::function<void(backend::Executor&, const std::function<void()>& step)>;

// Runs to max_iters, or until SIGINT, SIGTERM or SIGHUP. Throws for everything that keeps it from
// starting or going on; what was saved before stays, and when data or device fail in mid-run, the
// iterations done are saved first.
int train(config::LoadedConfig config, console::Console& console, const StepWatch& watch = {});

}  // namespace snug::train
