// From a config to a plan: the way that `plan`, `train` and `sample` share. Nothing large is
// allocated here, and no device is needed.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "config/config.h"
#include "data/meta.h"
#include "plan/run_plan.h"

namespace snug {

// The vocabulary of a run and where its size comes from.
struct Vocabulary {
  std::int64_t size = 0;
  std::string origin;        // "data/x/meta.pkl", "vocab_size", "GPT-2, no meta.pkl in data/x"
  std::optional<Meta> meta;  // of the data set, where there is one
};

std::string dataset_folder(const Config& config);

// Throws DataError when the data set's meta.pkl is there but damaged.
Vocabulary find_vocabulary(const Config& config);

// By pointer, because executors refer to program and plan.
std::unique_ptr<RunPlan> plan_training(const Config& config, std::int64_t vocab_size, int threads);
std::unique_ptr<RunPlan> plan_sampling(const ModelSpec& model, std::int64_t window, int threads);
std::unique_ptr<RunPlan> plan_sampling(const ModelSpec& model, std::int64_t window, DType compute,
                                       const Target& target);

}  // namespace snug
