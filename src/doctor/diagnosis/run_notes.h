// Notes that name a run by its settings: keys of train.py and model.py, options of the doctor.
#pragma once

#include "doctor/diagnosis/notes.h"
#include "doctor/torch/run.h"

namespace snug::doctor::diagnosis {

// What `run` has other than `given`.
Note matched_note(const torch::TorchRun& run, const torch::TorchRun& given);

// The sizes that explain a message which came without a config.
Note assumed_note(const torch::TorchRun& run);

// What batch_size and gradient_accumulation_steps make together.
Note effective_batch_note(const torch::TorchRun& run);

}  // namespace snug::doctor::diagnosis
