#include "train/start.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"
#include "config/fields.h"
#include "data/wide_ids.h"
#include "device/choose.h"
#include "fit/fixes.h"
#include "machine/processors.h"
#include "metrics/event_file.h"
#include "report/plan/fix_text.h"
#include "report/plan/refusal.h"
#include "report/plan/words.h"
#include "train/card_lines.h"
#include "train/fit_story.h"
#include "train/identity.h"
#include "train/metrics.h"
#include "train/resume.h"
#include "train/starting_model.h"

namespace snug::train {
namespace {

// A new run in a folder that holds an old one: the old one moves aside, nothing is lost.
void set_aside_earlier_run(checkpoint::CheckpointStore& store, const std::string& out_dir,
                           console::Console& console) {
  const std::optional<checkpoint::Path> aside =
      store.set_aside({kMetricsFile, metrics::kEventFolder});
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

// The device that the settings mean, in the precision that it computes in, and what is to be said
// of both.
void take_device(StartedRun& run, console::Console& console) {
  const config::Config& config = run.config.values;
  run.device = device::device_to_run(config);
  device::settle_dtype(run.config, *run.device);
  for (const std::string& notice : run.config.notices) console.line(notice);
  const std::optional<device::CardFacts> card = run.device->card_facts();
  if (config.device == "auto") {
    console.line(card ? "device: cuda" : fmt::format("device: cpu ({})", device::why_processor()));
  }
  for (const std::string& line : card_lines(card)) console.line(line);
}

void open_data(StartedRun& run, const data::Vocabulary& vocabulary, console::Console& console) {
  const config::Config& config = run.config.values;
  const std::string model = run.origin ? run.origin->name : run.resume ? config.out_dir : "";
  const data::TokenFileNeeds needs{config.vocab_size, config.block_size, model};
  const std::string folder = data::dataset_folder(config);
  run.train_tokens = data::open_tokens(folder, "train", needs);
  run.val_tokens = data::open_tokens(folder, "val", needs);
  for (const data::TokenSource* tokens : {run.train_tokens.get(), run.val_tokens.get()}) {
    tokens->check_all_ids();
    if (!vocabulary.is_stated && !run.resume) {
      data::require_narrow_ids(*tokens);
    } else if (data::looks_like_wide_ids(*tokens)) {
      console.line(data::wide_ids_notice(*tokens));
    }
  }
}

// Before anything is allocated: a data set of another alphabet is refused, other changes are told.
void identify(StartedRun& run, const data::Vocabulary& vocabulary, console::Console& console) {
  const std::string folder = data::dataset_folder(run.config.values);
  checkpoint::RunRecords now;
  now.tokenizer = tokenizer_record(vocabulary);
  now.data_files = {data_file_record(*run.train_tokens), data_file_record(*run.val_tokens)};
  now.arithmetic = arithmetic_record(*run.device);
  if (run.resume) {
    const checkpoint::RunRecords& saved = run.resume->state.records;
    require_same_tokenizer(saved.tokenizer, now.tokenizer, folder);
    for (const std::string& line : tell_changes(saved, now, folder)) console.line(line);
    if (now.tokenizer.kind.empty()) now.tokenizer = saved.tokenizer;
  } else if (run.origin) {
    const checkpoint::TokenizerRecord& saved = run.origin->state.records.tokenizer;
    require_same_tokenizer(saved, now.tokenizer, folder);
    if (now.tokenizer.kind.empty()) now.tokenizer = saved;
  }
  run.state.records = std::move(now);
}

void announce(const StartedRun& run, const data::Vocabulary& vocabulary, std::int64_t budget,
              console::Console& console) {
  const config::Config& config = run.config.values;
  const model::ModelSpec& model = run.plan->model;
  console.line(fmt::format("tokens per iteration will be: {}",
                           with_thousands(config::effective_batch_of(config) * config.block_size)));
  console.line(fmt::format("vocabulary of {} ({})", vocabulary.size, vocabulary.origin));
  console.line(fmt::format("number of parameters: {:.2f}M",
                           static_cast<double>(model.reported_parameter_count()) / 1e6));
  console.line(fmt::format("memory: {} planned, of {} that may be used",
                           format_bytes(run.plan->total_bytes()), format_bytes(budget)));
}

// Who else is on the card, if that is why less of it is free.
std::string others_on(const device::Device& device) {
  const std::optional<device::CardFacts> card = device.card_facts();
  return card ? holders_line(*card) : "";
}

// With --fit the settings are changed here, before anything is allocated. Otherwise it does not
// fit; `refused` is what the device said itself, if it has.
void fit_or_refuse(StartedRun& run, const device::Device& device,
                   const data::Vocabulary& vocabulary, console::Console& console,
                   const std::string& refused) {
  const config::Config& config = run.config.values;
  const fit::Planner planner(device.target(), vocabulary.size,
                             device.rates(config, vocabulary.size));
  fit::Fixes fixes = fit::find_fixes(planner, run.config, device.budget());
  if (config.fit || config.safest) {
    const fit::FitOutcome outcome = fit::apply_fix(run.config, fixes, device.budget().usable_bytes);
    const bool on_card = run.plan->plan.space == Space::kDevice;
    for (const std::string& line :
         report::fit_lines(outcome, on_card, report::language_of(config))) {
      console.line(line);
    }
    remember_fit(run.state, outcome, run.resume.has_value());
    run.plan = planner.plan(config);
    if (run.plan->total_bytes() <= device.budget().usable_bytes) return;
    fixes = fit::find_fixes(planner, run.config, device.budget());
  }
  const std::string others = others_on(device);
  throw report::does_not_fit(*run.plan, device.budget(), fixes, report::language_of(config),
                             refused + (refused.empty() || others.empty() ? "" : "\n") + others);
}

void plan_within_budget(StartedRun& run, const data::Vocabulary& vocabulary,
                        console::Console& console, const std::string& refused = "") {
  config::Config& config = run.config.values;
  const device::Device& device = *run.device;
  run.plan = plan::plan_training(config, vocabulary.size, device.target());
  const bool fits = run.plan->total_bytes() <= device.budget().usable_bytes;
  const bool repeats_fit = run.resume && (run.resume->fit || run.resume->safest);
  if (repeats_fit) {
    config.fit = run.resume->fit;
    config.safest = run.resume->safest;
  }
  const bool asked = (config.fit || config.safest) && !repeats_fit;
  if (!fits || asked) fit_or_refuse(run, device, vocabulary, console, refused);
  announce(run, vocabulary, device.budget().usable_bytes, console);
}

// Takes the plan's memory. A card may refuse it although the plan fitted: someone else was faster,
// or what is free is in pieces. Then the run is planned again for what is left: with --fit it fits,
// without it the fixes are told.
void take_memory(StartedRun& run, const config::LoadedConfig& asked,
                 const data::Vocabulary& vocabulary, console::Console& console) {
  constexpr int kMaxTimes = 3;
  constexpr double kNextTime = 0.95;
  for (int time = 1;; ++time) {
    try {
      run.engine = std::make_unique<TrainingEngine>(run.config.values, *run.plan, *run.device,
                                                    *run.train_tokens, *run.val_tokens);
      return;
    } catch (const CapacityError& error) {
      if (!run.device->card_facts() || time == kMaxTimes) throw;
      const auto refused_bytes = static_cast<double>(run.plan->plan.arena_bytes);
      run.device->refresh_budget();
      run.device->limit_budget(static_cast<std::int64_t>(kNextTime * refused_bytes));
      const std::int64_t vocab_size = run.config.values.vocab_size;
      run.config = asked;
      run.config.values.vocab_size = vocab_size;
      if (asked.values.fit || asked.values.safest) console.line(error.what());
      plan_within_budget(run, vocabulary, console, error.what());
    }
  }
}

// From here on out_dir is this run's own.
void claim_out_dir(StartedRun& run, console::Console& console) {
  using Space = checkpoint::CheckpointStore::Space;
  run.store->check_space(CheckpointList(run.plan->program).tensors(nullptr),
                         run.resume ? Space::kResumedRun : Space::kNewRun);
  for (const std::string& warning : run.store->check_writable()) console.line(warning);
}

// Asked only of a checkpoint that was loaded whole: a damaged one may claim to be the end.
void tell_if_finished(const config::Config& config, const checkpoint::TrainingState& state,
                      console::Console& console) {
  if (state.iteration <= config.max_iters || config.eval_only) return;
  console.line(
      fmt::format("nothing left to do: the checkpoint has done {} iterations and max_iters is {}; "
                  "raise --max_iters to train on",
                  state.iteration, config.max_iters));
}

// The number of threads decides last bits, so that a run does not change it by itself.
void tell_if_shared(const StartedRun& run, const machine::LoadMeter& load,
                    console::Console& console) {
  constexpr double kBusy = 0.5;
  const int threads = run.device->target().threads();
  const double others = load.cores_of_others().value_or(0);
  if (run.device->card_facts() || threads < 2 || others < kBusy) return;
  console.line(
      fmt::format("other programs keep about {:.1f} cores busy, and threads wait for each other: "
                  "--threads={} may be faster (and gives other last bits)",
                  others, std::max(1, threads - static_cast<int>(others + 0.5))));
}

// Snug's own checkpoints go beside the file, which stays as it is.
void resume_from(const formats::Source& source, StartedRun& run, console::Console& console) {
  tell_if_finished(run.config.values, source.state, console);
  console.line(fmt::format("Resuming training from {}", source.name));
  run.engine->load(source);
  console.line(fmt::format("continuing at iteration {}{}", source.state.iteration,
                           source.has_optimizer ? "" : ", with AdamW's moments at zero"));
}

void load_or_initialize(StartedRun& run, console::Console& console) {
  if (run.origin) {
    console.line(fmt::format("Initializing from {}", run.origin->name));
    run.engine->load(*run.origin);
    return;
  }
  if (!run.resume) {
    console.line("Initializing a new model from scratch");
    run.engine->initialize();
    return;
  }
  if (run.resume->foreign) return resume_from(*run.resume->foreign, run, console);
  console.line(fmt::format("Resuming training from {}", run.config.values.out_dir));
  const checkpoint::Loaded loaded = run.engine->load(*run.store);
  for (const std::string& warning : loaded.warnings) console.line(warning);
  tell_if_finished(run.config.values, loaded.state, console);
  console.line(
      fmt::format("continuing at iteration {} from {}", loaded.state.iteration, loaded.folder));
  checkpoint::TrainingState earlier = std::move(run.state);
  run.state = loaded.state;
  run.state.records = std::move(earlier.records);
  run.state.fits_json = std::move(earlier.fits_json);
  run.state.fit_texts = std::move(earlier.fit_texts);
}

}  // namespace

StartedRun start_training(config::LoadedConfig config, console::Console& console) {
  const machine::LoadMeter load;
  StartedRun run;
  run.config = std::move(config);
  const config::Config& settings = run.config.values;
  run.store = std::make_unique<checkpoint::CheckpointStore>(
      settings.out_dir, static_cast<int>(settings.keep_checkpoints));
  device::require_runnable(settings);
  if (settings.init_from == "resume") {
    run.resume = take_resume_point(*run.store, run.config);
    if (!run.resume) throw nothing_to_resume(settings.out_dir);
    run.state = run.resume->state;
  } else if (starts_from_model(settings)) {
    run.origin = take_starting_model(run.config);
  }
  take_device(run, console);
  if (settings.wandb_log) {
    console.line(
        fmt::format("wandb_log: nothing is written for Weights & Biases; losses go to {}/{} "
                    "and {}/{}, and docs/metrics.md says how to make a run of them that "
                    "wandb sync takes",
                    settings.out_dir, kMetricsFile, settings.out_dir, metrics::kEventFolder));
  }
  data::Vocabulary vocabulary = data::find_vocabulary(run.config);
  if (run.origin) require_same_vocabulary(*run.origin, vocabulary, settings);
  if (run.resume && run.resume->foreign) {
    require_same_vocabulary(*run.resume->foreign, vocabulary, settings);
  }
  run.config.values.vocab_size = vocabulary.size;
  if (vocabulary.meta && vocabulary.meta->vocab_size == vocabulary.size) {
    run.entropy_floor = vocabulary.meta->entropy_floor;
  }
  open_data(run, vocabulary, console);
  identify(run, vocabulary, console);
  const config::LoadedConfig asked = run.config;
  plan_within_budget(run, vocabulary, console);

  if (!settings.eval_only) claim_out_dir(run, console);
  take_memory(run, asked, vocabulary, console);
  if (!run.resume && !settings.eval_only) {
    set_aside_earlier_run(*run.store, settings.out_dir, console);
  }
  run.peak_flops = run.engine->executor().measure_peak_flops();
  load_or_initialize(run, console);
  tell_if_shared(run, load, console);
  run.state.seed = static_cast<std::uint64_t>(settings.seed);
  run.state.config_json = config::config_to_json(settings);
  return run;
}

}  // namespace snug::train
