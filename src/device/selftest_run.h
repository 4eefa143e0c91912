// What the self-test runs, and with which numbers: its models, their weights, tokens and steps.
#pragma once

#include <string>

#include "backend/backend.h"
#include "config/config.h"
#include "plan/run_plan.h"

namespace snug::device {

// A model and a batch to run it on.
struct SelftestCase {
  std::int64_t layers, heads, head_width, vocabulary, window, batch;
  const char* optimizer_dtype = "float32";

  std::int64_t width() const { return heads * head_width; }
  std::string describe() const;
};

// `wanted` but for what the case says: biases, dropout, a checkpointed block, chunks of the loss.
config::Config config_of(const SelftestCase& model, const config::Config& wanted, DType precision);

// Weights of a training or sampling program, each a function of its place; moments are zero.
backend::HostTransfer loading(const program::Program& program);
// The batch's tokens and targets, below `vocabulary`.
void write_tokens(backend::Executor& executor, const program::Phase& phase, std::int64_t vocabulary,
                  std::uint32_t batch);

// The numbers of an iteration: of a micro-step, then of the update.
backend::StepContext step_context(std::int64_t iteration, std::int64_t sequences);
backend::StepContext update_context(std::int64_t iteration, std::int64_t tokens);

}  // namespace snug::device
