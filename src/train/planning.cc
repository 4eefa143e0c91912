#include "train/planning.h"

#include "backend/cpu/cpu_target.h"
#include "fit/planner.h"
#include "program/sampling_program.h"

namespace snug {
std::string dataset_folder(const Config& config) { return "data/" + config.dataset; }

Vocabulary find_vocabulary(const Config& config) {
  const std::string folder = dataset_folder(config);
  Vocabulary vocabulary;
  vocabulary.meta = read_meta(folder);
  if (config.vocab_size > 0) {
    vocabulary.size = config.vocab_size;
    vocabulary.origin = "vocab_size";
  } else if (vocabulary.meta) {
    vocabulary.size = vocabulary.meta->vocab_size;
    vocabulary.origin = folder + "/meta.pkl";
  } else {
    vocabulary.size = kPaddedGpt2Vocabulary;
    vocabulary.origin = "GPT-2's, as " + folder + " has no meta.pkl";
  }
  return vocabulary;
}

std::unique_ptr<RunPlan> plan_training(const Config& config, std::int64_t vocab_size, int threads) {
  const cpu::CpuTarget target(threads);
  return Planner(target, vocab_size, Rates{}).plan(config);
}

std::unique_ptr<RunPlan> plan_sampling(const ModelSpec& model, std::int64_t window, int threads) {
  return plan_sampling(model, window, DType::kF32, cpu::CpuTarget(threads));
}

std::unique_ptr<RunPlan> plan_sampling(const ModelSpec& model, std::int64_t window, DType compute,
                                       const Target& target) {
  auto run = std::make_unique<RunPlan>();
  run->model = model;
  run->program = build_sampling_program(run->model, window, compute, target);
  run->plan = make_plan(run->program);
  run->overhead_bytes = target.overhead_bytes(run->program);
  return run;
}

}  // namespace snug
