// What a checkpoint decides about the run that goes on from it.
#pragma once

#include <optional>

#include "checkpoint/checkpoint_store.h"
#include "config/config.h"
#include "formats/source.h"

namespace snug::train {

struct ResumePoint {
  checkpoint::TrainingState state;
  // As the run was started, unless they are set anew: where it does not fit as it is, it is fitted
  // again, as the memory that is free now may be another.
  bool fit = false, safest = false;
  // nanoGPT's ckpt.pt, where the run goes on from one; it stays as it is.
  std::optional<formats::Source> foreign = std::nullopt;
};

// Takes the model from the newest checkpoint of `store` into `config`, and says in its notices what
// that changes and what --fit changed earlier. A ckpt.pt in out_dir counts when Snug has saved
// nothing there, or nothing as far. Nothing when there is neither.
std::optional<ResumePoint> take_resume_point(const checkpoint::CheckpointStore& store,
                                             config::LoadedConfig& config);

// Takes the keys that make the model from a checkpoint's config, as nanoGPT's resume does.
void take_model_keys(const std::string& checkpoint_config_json, config::LoadedConfig& config);

// Where a run lies that was set aside in out_dir, for messages that find nothing in it; or "".
std::string earlier_run_note(const std::string& out_dir);

}  // namespace snug::train
