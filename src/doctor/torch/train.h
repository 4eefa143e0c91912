// nanoGPT's train.py on a TorchTape: start, evaluation, two iterations (the first has no optimizer
// state yet, the second stands for all later ones), evaluation. Two micro-steps of an iteration
// stand for any larger number.
#pragma once

#include "doctor/torch/run.h"
#include "doctor/torch/tape.h"

namespace snug::doctor::torch {

// `tape` is empty.
void record_training(const TorchRun& run, TorchTape& tape);

}  // namespace snug::doctor::torch
