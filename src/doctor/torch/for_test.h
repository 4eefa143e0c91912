// Runs for tests: everything that is not given is nanoGPT's default, with one micro-step.
#pragma once

#include <cmath>

#include "doctor/torch/memory.h"

namespace snug::doctor::torch {

inline TorchRun sized_torch_run(std::int64_t layers, std::int64_t heads, std::int64_t width,
                                std::int64_t block, std::int64_t vocabulary, std::int64_t batch) {
  TorchRun run;
  run.n_layer = layers;
  run.n_head = heads;
  run.n_embd = width;
  run.block_size = run.eval_block_size = block;
  run.vocab_size = vocabulary;
  run.batch_size = run.eval_batch_size = batch;
  run.accumulation_steps = 1;
  return run;
}

// |model - measured| / measured.
inline double relative_error(std::int64_t model, std::int64_t measured) {
  return std::fabs(static_cast<double>(model - measured)) / static_cast<double>(measured);
}

}  // namespace snug::doctor::torch
