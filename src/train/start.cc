#include "train/start.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/bytes.h"
#include "base/error.h"
#include "report/refusal.h"
#include "train/device.h"
#include "train/fitting.h"
#include "train/gemm_peak.h"
#include "train/metrics.h"

namespace snug {
namespace {

// A new run in a folder that holds an old one: the old one moves aside, nothing is lost.
void set_aside_earlier_run(CheckpointStore& store, const std::string& out_dir, Console& console) {
  const std::optional<Path> aside = store.set_aside({kMetricsFile});
  if (!aside) return;
  console.line(fmt::format("{} held an earlier run: it is kept in {}", out_dir, aside->string()));
}

// What an earlier --fit did is said again; it fits again unless told otherwise, as the memory that
// is free now may be another.
void take_fit(const Config& before, const std::vector<std::string>& changes, LoadedConfig& config) {
  for (const std::string& line : changes) {
    config.notices.push_back(fmt::format("when this run started, {}", line));
  }
  if (config.is_set("fit") || config.is_set("safest")) return;
  config.values.fit = before.fit;
  config.values.safest = before.safest;
}

// Leaves in run.config what the resumed run will use, and says in its notices what that changes.
void find_resume_point(StartedRun& run) {
  const Config& now = run.config.values;
  const auto found = run.store->peek();
  if (!found) {
    throw DataError(fmt::format(
        "nothing to resume from: {} holds no checkpoint\n"
        "a checkpoint is saved at every evaluation after iteration 0, and when a run is stopped\n"
        "check --out_dir, or start anew with --init_from=scratch{}",
        now.out_dir, earlier_run_note(now.out_dir)));
  }
  run.state = found->state;
  run.resumed = true;
  const Config before = config_from_json(found->state.config_json);
  take_model_keys(found->state.config_json, run.config);
  take_fit(before, found->state.fit_changes, run.config);
  const auto sequences = [](const Config& c) {
    return c.batch_size * c.gradient_accumulation_steps;
  };
  if (sequences(before) != sequences(now) || before.seed != now.seed) {
    run.config.notices.push_back(fmt::format(
        "the effective batch was {} with seed {}, now it is {} with seed {}: training goes on, "
        "but not as it would have",
        sequences(before), before.seed, sequences(now), now.seed));
  }
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
  console.line(fmt::format(
      "tokens per iteration will be: {}",
      with_thousands(config.batch_size * config.gradient_accumulation_steps * config.block_size)));
  console.line(fmt::format("vocabulary of {} ({})", vocabulary.size, vocabulary.origin));
  console.line(fmt::format("number of parameters: {:.2f}M",
                           static_cast<double>(model.reported_parameter_count()) / 1e6));
  console.line(fmt::format("memory: {} planned, of {} that may be used",
                           format_bytes(run.plan->total_bytes()), format_bytes(budget)));
}

// With --fit the settings are changed here, before anything is allocated. Otherwise it does not
// fit.
void fit_or_refuse(StartedRun& run, const PlannedDevice& device, const Vocabulary& vocabulary,
                   Console& console) {
  const Config& config = run.config.values;
  const Planner planner(*device.target, vocabulary.size,
                        device_rates(device, config, vocabulary.size));
  Fixes fixes = find_fixes(planner, run.config, device.budget);
  if (config.fit || config.safest) {
    run.state.fit_changes = apply_fix(run.config, fixes, false);
    for (const std::string& line : run.state.fit_changes) console.line(line);
    run.plan = planner.plan(config);
    if (run.plan->total_bytes() <= device.budget.usable_bytes) return;
    fixes = find_fixes(planner, run.config, device.budget);
  }
  throw does_not_fit(*run.plan, device.budget, fixes);
}

void plan_within_budget(StartedRun& run, const Vocabulary& vocabulary, Console& console) {
  const Config& config = run.config.values;
  const PlannedDevice device = processor(config);
  run.plan = plan_training(config, vocabulary.size, device.threads);
  const bool fits = run.plan->total_bytes() <= device.budget.usable_bytes;
  if (!fits || config.fit || config.safest) fit_or_refuse(run, device, vocabulary, console);
  announce(run, vocabulary, device.budget.usable_bytes, console);
}

// The program's tensors as a checkpoint names them, before they have a place.
std::vector<NamedView> unplaced(const Program& program, const std::vector<TensorId>& ids) {
  std::vector<NamedView> views;
  for (const TensorId id : ids) {
    const Tensor& tensor = program.tensor(id);
    views.push_back({tensor.name, {nullptr, tensor.dtype, tensor.shape}});
  }
  return views;
}

// From here on out_dir is this run's own.
void claim_out_dir(StartedRun& run) {
  const Program& program = run.plan->program;
  const std::vector<NamedView> weights = unplaced(program, program.weights);
  std::vector<NamedView> optimizer = unplaced(program, program.first_moments);
  const std::vector<NamedView> second = unplaced(program, program.second_moments);
  optimizer.insert(optimizer.end(), second.begin(), second.end());
  run.store->check_space({weights, optimizer});
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
  if (!run.resumed) {
    console.line("Initializing a new model from scratch");
    run.engine->initialize();
    return;
  }
  console.line(fmt::format("Resuming training from {}", run.config.values.out_dir));
  const Loaded loaded = run.store->load(run.engine->checkpoint_tensors());
  for (const std::string& warning : loaded.warnings) console.line(warning);
  require_work_left(run.config.values, loaded.state);
  console.line(
      fmt::format("continuing at iteration {} from {}", loaded.state.iteration, loaded.folder));
  std::vector<std::string> fitted_now = std::move(run.state.fit_changes);
  run.state = loaded.state;
  if (!fitted_now.empty()) run.state.fit_changes = std::move(fitted_now);
}

}  // namespace

std::string earlier_run_note(const std::string& out_dir) {
  int number = 0;
  while (std::filesystem::exists(fmt::format("{}/earlier-{}", out_dir, number + 1))) ++number;
  return number == 0 ? "" : fmt::format(" (an earlier run is in {}/earlier-{})", out_dir, number);
}

void require_device(const Config& config) {
  if (!config.card.empty()) {
    throw DeviceError(
        fmt::format("card = '{}' cannot be trained on: this build has no CUDA backend\n"
                    "`snug plan` plans for it; to train on the processor leave --card out",
                    config.card));
  }
  if (config.device == "cpu" || config.device == "auto") return;
  throw DeviceError(
      fmt::format("device = '{}' cannot be used: this build has no CUDA backend\n"
                  "train on the processor with --device=cpu; `snug plan` needs no device",
                  config.device));
}

void take_model_keys(const std::string& checkpoint_config_json, LoadedConfig& config) {
  const Config saved = config_from_json(checkpoint_config_json);
  Origin from_checkpoint;
  from_checkpoint.kind = Origin::Kind::kCheckpoint;
  const auto take = [&](const char* key, auto& now, auto before) {
    if (config.is_set(key) && now != before) {
      config.notices.push_back(
          fmt::format("{} = {} comes from the checkpoint, not {}", key, before, now));
    }
    now = before;
    config.origins[key] = from_checkpoint;
  };
  Config& now = config.values;
  take("n_layer", now.n_layer, saved.n_layer);
  take("n_head", now.n_head, saved.n_head);
  take("n_embd", now.n_embd, saved.n_embd);
  take("block_size", now.block_size, saved.block_size);
  take("bias", now.bias, saved.bias);
  take("vocab_size", now.vocab_size, saved.vocab_size);
  take("optimizer_dtype", now.optimizer_dtype, saved.optimizer_dtype);
  resolve(config);
}

StartedRun start_training(LoadedConfig config, Console& console) {
  StartedRun run;
  run.config = std::move(config);
  const Config& settings = run.config.values;
  run.store = std::make_unique<CheckpointStore>(settings.out_dir,
                                                static_cast<int>(settings.keep_checkpoints));
  require_device(settings);
  if (settings.init_from == "resume") find_resume_point(run);
  for (const std::string& notice : run.config.notices) console.line(notice);
  say_device(settings, console);

  Vocabulary vocabulary = find_vocabulary(settings);
  if (run.resumed) vocabulary.origin = "the checkpoint's";
  run.config.values.vocab_size = vocabulary.size;
  if (vocabulary.meta && vocabulary.meta->vocab_size == vocabulary.size) {
    run.entropy_floor = vocabulary.meta->entropy_floor;
  }
  open_data(run);
  plan_within_budget(run, vocabulary, console);

  if (!settings.eval_only) claim_out_dir(run);
  run.engine =
      std::make_unique<TrainingEngine>(settings, *run.plan, *run.train_tokens, *run.val_tokens);
  if (!run.resumed && !settings.eval_only) {
    set_aside_earlier_run(*run.store, settings.out_dir, console);
  }
  run.peak_flops = measure_gemm_peak(run.engine->executor().arena());
  load_or_initialize(run, console);
  run.state.seed = static_cast<std::uint64_t>(settings.seed);
  run.state.config_json = config_to_json(settings);
  return run;
}

}  // namespace snug
