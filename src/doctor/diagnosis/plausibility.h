// Whether a tensor of the modelled run can be the one of a log's moment.
#pragma once

#include "doctor/diagnosis/moment.h"
#include "doctor/torch/memory.h"

namespace snug::doctor::diagnosis {

// How well a tensor of the modelled run goes with the moment, 0 to 1: a contradiction makes it
// unlikely, never impossible, since logs are cut and mixed.
double plausibility(const LogMoment& moment, const torch::TorchTensor& tensor);

}  // namespace snug::doctor::diagnosis
