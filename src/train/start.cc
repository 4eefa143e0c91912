#include "train/start.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/cpu/cpu_target.h"
#include "base/bytes.h"
#include "base/error.h"
#include "report/plan_report.h"
#include "train/gemm_peak.h"
#include "train/host_memory.h"
#include "train/metrics.h"

namespace snug {
namespace {

// A new run in a folder that holds an old one: the old one moves aside, nothing is lost.
void set_aside_earlier_run(CheckpointStore& store, const std::string& out_dir, Console& console) {
  const std::optional<Path> aside = store.set_aside({kMetricsFile});
  if (!aside) return;
  console.line(fmt::format("{} held an earlier run: it is kept in {}", out_dir, aside->string()));
}

void find_resume_point(StartedRun& run, Console& console) {
  const auto found = run.store->peek();
  if (!found) {
    throw DataError(fmt::format(
        "nothing to resume from: {} holds no checkpoint\n"
        "a checkpoint is saved at every evaluation after iteration 0, and when a run is stopped\n"
        "check --out_dir, or start anew with --init_from=scratch",
        run.config.values.out_dir));
  }
  run.state = found->state;
  run.resumed = true;
  const Config before = config_from_json(found->state.config_json);
  take_model_keys(found->state.config_json, run.config);
  const Config& now = run.config.values;
  const auto sequences = [](const Config& c) {
    return c.batch_size * c.gradient_accumulation_steps;
  };
  console.line(fmt::format("Resuming training from {}", now.out_dir));
  if (sequences(before) != sequences(now) || before.seed != now.seed) {
    console.line(fmt::format(
        "the effective batch was {} with seed {}, now it is {} with seed {}: training goes on, "
        "but not as it would have",
        sequences(before), before.seed, sequences(now), now.seed));
  }
}

void open_data(StartedRun& run, const Vocabulary& vocabulary) {
  const Config& config = run.config.values;
  const TokenFileNeeds needs{vocabulary.size, std::max(config.block_size, config.eval_block_size)};
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

void load_or_initialize(StartedRun& run, Console& console) {
  if (!run.resumed) {
    console.line("Initializing a new model from scratch");
    run.engine->initialize();
    return;
  }
  const Loaded loaded = run.store->load(run.engine->checkpoint_tensors());
  for (const std::string& warning : loaded.warnings) console.line(warning);
  console.line(
      fmt::format("continuing at iteration {} from {}", loaded.state.iteration, loaded.folder));
  run.state = loaded.state;
}

}  // namespace

std::string choose_device(const std::string& wanted) {
  if (wanted == "cpu" || wanted == "auto") return "cpu";
  throw DeviceError(
      fmt::format("device = '{}' cannot be used: this build has no CUDA backend\n"
                  "train on the processor with --device=cpu; `snug plan` needs no device",
                  wanted));
}

void take_model_keys(const std::string& checkpoint_config_json, LoadedConfig& config) {
  const Config saved = config_from_json(checkpoint_config_json);
  Config& now = config.values;
  now.n_layer = saved.n_layer;
  now.n_head = saved.n_head;
  now.n_embd = saved.n_embd;
  now.bias = saved.bias;
  now.vocab_size = saved.vocab_size;
  now.block_size = saved.block_size;
  now.eval_block_size = std::min(now.eval_block_size, now.block_size);
  resolve(config);
}

StartedRun start_training(LoadedConfig config, Console& console) {
  StartedRun run;
  run.config = std::move(config);
  for (const std::string& notice : run.config.notices) console.line(notice);
  const std::string device = choose_device(run.config.values.device);
  if (run.config.values.device == "auto") {
    console.line("device: cpu (this build has no CUDA backend)");
  }
  run.store = std::make_unique<CheckpointStore>(
      run.config.values.out_dir, static_cast<int>(run.config.values.keep_checkpoints));
  if (run.config.values.init_from == "resume") find_resume_point(run, console);

  const Vocabulary vocabulary = find_vocabulary(run.config.values);
  run.config.values.vocab_size = vocabulary.size;
  const Config& settings = run.config.values;
  if (vocabulary.meta && vocabulary.meta->vocab_size == vocabulary.size) {
    run.entropy_floor = vocabulary.meta->entropy_floor;
  }
  open_data(run, vocabulary);

  const int threads = cpu::use_threads(settings.threads);
  run.plan = plan_training(settings, vocabulary.size, threads);
  const std::int64_t budget = budget_bytes(settings.memory_budget, host_memory());
  announce(run, vocabulary, budget, console);
  if (run.plan->total_bytes() > budget) throw does_not_fit(*run.plan, budget);
  if (run.resumed && run.state.iteration > settings.max_iters && !settings.eval_only) {
    throw ConfigError(fmt::format(
        "nothing left to do: the checkpoint has done {} iterations and max_iters is {}\n"
        "raise --max_iters to train on",
        run.state.iteration, settings.max_iters));
  }

  run.store->check_writable();
  run.engine =
      std::make_unique<TrainingEngine>(settings, *run.plan, *run.train_tokens, *run.val_tokens);
  run.store->check_space(run.engine->checkpoint_tensors());
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
