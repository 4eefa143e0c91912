// What --fit did in the course of a run: kept in its checkpoints as data, told when it goes on.
// Format: docs/formats.md, `fits` of state.json.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/manifest.h"
#include "fit/outcome.h"

namespace snug::train {

// Adds an outcome to the state: the first fit of a run whatever it was; of later ones, when the run
// goes on from a checkpoint, what they changed, if that is new.
void remember_fit(checkpoint::TrainingState& state, const fit::FitOutcome& outcome, bool resumed);

// All fits of the run, the oldest first, one line each: "when this run started, fit: ...", "at
// iteration 40, fit: ...". Texts that an older Snug has stored are told as they are. Throws
// DataError for records that make no sense.
std::vector<std::string> fit_story(const checkpoint::TrainingState& state);

}  // namespace snug::train
