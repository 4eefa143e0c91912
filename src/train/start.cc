#include "train/start.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"
#include "device/choose.h"
#include "fit/fixes.h"
#include "report/plan/fix_text.h"
#include "report/plan/refusal.h"
#include "train/fit_story.h"
#include "train/metrics.h"
#include "train/resume.h"

namespace snug {
namespace {

// A new run in a folder that holds an old one: the old one moves aside, nothing is lost.
void set_aside_earlier_run(CheckpointStore& store, const std::string& out_dir, Console& console) {
  const std::optional<Path> aside = store.set_aside({kMetricsFile});
  if (!aside) return;
  console.line(fmt::format("{} held an earlier run: it is kept in {}", out_dir, aside->string()));
}

DataError nothing_to_resume(const std::string& out_dir) {
  return DataError(fmt::format(
      "nothing to resume from: {} holds no checkpoint\n"
      "a checkpoint is saved at every evaluation after iteration 0, and when a run is stopped\n"
      "check --out_dir, or start anew with --init_from=scratch{}",
      out_dir, earlier_run_note(out_dir)));
}

void say_device(const Config& config, Console& console) {
  if (config.device == "auto") console.line("device: cpu (this build has no CUDA backend)");
  if (config.dtype != "float32") {
    console.line(fmt::format("dtype {}: on the processor Snug trains in float32", config.dtype));
  }
}

void open_data(StartedRun& run) {
  const Config& config = run.config.values;
  const TokenFileNeeds needs{config.vocab_size, config.block_size};
  const std::string folder = dataset_folder(config);
  run.train_tokens = std::make_unique<TokenFile>(folder + "/train.bin", needs);
  run.val_tokens = std::make_unique<TokenFile>(folder + "/val.bin", needs);
  run.train_tokens->check_all_ids();
  run.val_tokens->check_all_ids();
}

void announce(const StartedRun& run, const Vocabulary& vocabulary, std::int64_t budget,
              Console& console) {
  const Config& config = run.config.values;
  const ModelSpec& model = run.plan->model;
  console.line(fmt::format("tokens per iteration will be: {}",
                           with_thousands(effective_batch_of(config) * config.block_size)));
  console.line(fmt::format("vocabulary of {} ({})", vocabulary.size, vocabulary.origin));
  console.line(fmt::format("number of parameters: {:.2f}M",
                           static_cast<double>(model.reported_parameter_count()) / 1e6));
  console.line(fmt::format("memory: {} planned, of {} that may be used",
                           format_bytes(run.plan->total_bytes()), format_bytes(budget)));
}

// With --fit the settings are changed here, before anything is allocated. Otherwise it does not
// fit.
void fit_or_refuse(StartedRun& run, const Device& device, const Vocabulary& vocabulary,
                   Console& console) {
  const Config& config = run.config.values;
  const Planner planner(device.target(), vocabulary.size, device.rates(config, vocabulary.size));
  Fixes fixes = find_fixes(planner, run.config, device.budget());
  if (config.fit || config.safest) {
    const FitOutcome outcome = apply_fix(run.config, fixes, device.budget().usable_bytes);
    for (const std::string& line : fit_lines(outcome, false)) console.line(line);
    remember_fit(run.state, outcome, run.resume.has_value());
    run.plan = planner.plan(config);
    if (run.plan->total_bytes() <= device.budget().usable_bytes) return;
    fixes = find_fixes(planner, run.config, device.budget());
  }
  throw does_not_fit(*run.plan, device.budget(), fixes);
}

void plan_within_budget(StartedRun& run, const Vocabulary& vocabulary, Console& console) {
  Config& config = run.config.values;
  run.device = device_to_run(config);
  const Device& device = *run.device;
  run.plan = plan_training(config, vocabulary.size, device.target());
  const bool fits = run.plan->total_bytes() <= device.budget().usable_bytes;
  const bool fits_again = run.resume && (run.resume->fit || run.resume->safest);
  if (fits_again) {
    config.fit = run.resume->fit;
    config.safest = run.resume->safest;
  }
  const bool asked = (config.fit || config.safest) && !fits_again;
  if (!fits || asked) fit_or_refuse(run, device, vocabulary, console);
  announce(run, vocabulary, device.budget().usable_bytes, console);
}

// From here on out_dir is this run's own.
void claim_out_dir(StartedRun& run) {
  run.store->check_space(CheckpointList(run.plan->program).tensors(nullptr));
  run.store->check_writable();
}

// Asked only of a checkpoint that was loaded whole: a damaged one may claim to be the end.
void require_work_left(const Config& config, const TrainingState& state) {
  if (state.iteration <= config.max_iters || config.eval_only) return;
  throw ConfigError(
      fmt::format("nothing left to do: the checkpoint has done {} iterations and max_iters is {}\n"
                  "raise --max_iters to train on",
                  state.iteration, config.max_iters));
}

void load_or_initialize(StartedRun& run, Console& console) {
  if (!run.resume) {
    console.line("Initializing a new model from scratch");
    run.engine->initialize();
    return;
  }
  console.line(fmt::format("Resuming training from {}", run.config.values.out_dir));
  const Loaded loaded = run.engine->load(*run.store);
  for (const std::string& warning : loaded.warnings) console.line(warning);
  require_work_left(run.config.values, loaded.state);
  console.line(
      fmt::format("continuing at iteration {} from {}", loaded.state.iteration, loaded.folder));
  TrainingState earlier = std::move(run.state);
  run.state = loaded.state;
  run.state.fits_json = std::move(earlier.fits_json);
  run.state.fit_texts = std::move(earlier.fit_texts);
}

}  // namespace

StartedRun start_training(LoadedConfig config, Console& console) {
  StartedRun run;
  run.config = std::move(config);
  const Config& settings = run.config.values;
  run.store = std::make_unique<CheckpointStore>(settings.out_dir,
                                                static_cast<int>(settings.keep_checkpoints));
  require_runnable(settings);
  if (settings.init_from == "resume") {
    run.resume = take_resume_point(*run.store, run.config);
    if (!run.resume) throw nothing_to_resume(settings.out_dir);
    run.state = run.resume->state;
  }
  for (const std::string& notice : run.config.notices) console.line(notice);
  say_device(settings, console);

  Vocabulary vocabulary = find_vocabulary(settings);
  if (run.resume) vocabulary.origin = "the checkpoint's";
  run.config.values.vocab_size = vocabulary.size;
  if (vocabulary.meta && vocabulary.meta->vocab_size == vocabulary.size) {
    run.entropy_floor = vocabulary.meta->entropy_floor;
  }
  open_data(run);
  plan_within_budget(run, vocabulary, console);

  if (!settings.eval_only) claim_out_dir(run);
  run.engine = std::make_unique<TrainingEngine>(settings, *run.plan, *run.device, *run.train_tokens,
                                                *run.val_tokens);
  if (!run.resume && !settings.eval_only) {
    set_aside_earlier_run(*run.store, settings.out_dir, console);
  }
  run.peak_flops = run.engine->executor().measure_peak_flops();
  load_or_initialize(run, console);
  run.state.seed = static_cast<std::uint64_t>(settings.seed);
  run.state.config_json = config_to_json(settings);
  return run;
}

}  // namespace snug
