// Everything between a config and the first iteration: what is wrong is said here, in the order in
// which a person can mend it, before anything large is allocated or anything on disk is touched.
// Only what takes a load to know, damage and a run that is finished, is said after that.
#pragma once

#include <memory>
#include <optional>

#include "config/config.h"
#include "console/console.h"
#include "data/vocabulary.h"
#include "device/device.h"
#include "train/engine.h"
#include "train/resume.h"

namespace snug::train {

struct StartedRun {
  config::LoadedConfig config;
  std::unique_ptr<device::Device> device;
  std::unique_ptr<plan::RunPlan> plan;
  std::unique_ptr<data::TokenSource> train_tokens, val_tokens;
  std::unique_ptr<checkpoint::CheckpointStore> store;
  std::unique_ptr<TrainingEngine> engine;
  checkpoint::TrainingState state;  // iteration 0, or where the checkpoint stood
  std::optional<ResumePoint> resume;
  std::optional<formats::Source> origin;  // of init_from = a model
  double peak_flops = 0;
  std::optional<double> entropy_floor;  // nats per token that no model can beat
};

// Locks out_dir for as long as the StartedRun lives; with eval_only it is read and nothing more.
StartedRun start_training(config::LoadedConfig config, console::Console& console);

}  // namespace snug::train
