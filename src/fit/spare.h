// What a run that fits could use the rest of its device's memory for. Internal to fit.
#pragma once

#include <vector>

#include "fit/cost_model.h"
#include "fit/planner.h"

namespace snug::fit {

// Each on its own, at the largest size that fits; what cannot grow is left out:
// - kLessRecomputing: nothing is computed again in backward, or as little as fits,
// - kLargerBatch: the largest micro-batch of the same effective batch; where the batch is the whole
//   of it, the largest one at all, which is another training,
// - kLongerContext in powers of two, kMoreLayers: where the model is not given.
std::vector<Fix> spare_uses(const FixMaker& maker, const Planner& planner);

}  // namespace snug::fit
