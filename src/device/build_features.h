// What this build has beside the processor's backend. The one place that says whether a card can be
// trained on: reports, errors and `snug --version` ask here, and CMake decides.
#pragma once

#include <string>
#include <vector>

#include "fit/card_support.h"
#include "fit/cards.h"

namespace snug::device {

// The compute capabilities that the CUDA kernels of this build are compiled for, rising: 75, 86.
// Empty: the build has no CUDA backend.
std::vector<int> cuda_capabilities();

// A card runs kernels that were compiled for its capability or an earlier one.
fit::CardSupport card_support(const fit::Card& card);

// "cpu, cuda (sm_75 sm_86; not yet run on hardware)", as in `snug --version`.
std::string build_features();

}  // namespace snug::device
