// nanoGPT's train.py on a TorchTape: start, evaluation, iterations, evaluation, iterations. The
// first iteration has no optimizer state yet; the second stands for all later ones, and two
// micro-steps for any larger number, as far as tensors go. What the allocator holds in pieces
// settles later.
#pragma once

#include <cstdint>

#include "doctor/torch/run.h"
#include "doctor/torch/tape.h"

namespace snug::doctor::torch {

// How much of a run is recorded.
struct TorchExtent {
  std::int64_t micro_steps = 2;  // of an iteration, at most
  int iterations = 2;
  int iterations_after_evaluation = 0;
};

// `tape` is empty.
void record_training(const TorchRun& run, TorchTape& tape, const TorchExtent& extent = {});

}  // namespace snug::doctor::torch
