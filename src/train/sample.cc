// The command around Generator: checkpoint, tokenizer, prompt, printing.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/input_file.h"
#include "checkpoint/checkpoint_store.h"
#include "checkpoint/file_system.h"
#include "checkpoint/out_folder.h"
#include "console/output_filter.h"
#include "console/stop_signal.h"
#include "device/choose.h"
#include "formats/format.h"
#include "gpt2/spec.h"
#include "report/plan/refusal.h"
#include "report/plan/words.h"
#include "train/generate.h"
#include "train/resume.h"
#include "train/sample_tokenizer.h"
#include "train/starting_model.h"

namespace snug::train {
namespace {

constexpr std::string_view kFilePrefix = "FILE:";
constexpr std::int64_t kMaxPromptBytes = kMiB;  // only its last block_size tokens count

std::string read_prompt(const std::string& start) {
  if (start.rfind(kFilePrefix, 0) != 0) return start;
  try {
    return read_whole_file(start.substr(kFilePrefix.size()), kMaxPromptBytes);
  } catch (const DataError& error) {
    throw DataError(fmt::format(
        "{}\n--start=FILE:path takes a text file, --start=\"text\" the text", error.what()));
  }
}

// On a terminal through the filter; in a pipe the very characters that the model writes.
void print_text(const std::string& text) {
  if (::isatty(STDOUT_FILENO) == 1) {
    std::fwrite(text.data(), 1, text.size(), stdout);
  } else {
    console::put_unfiltered(stdout, text);
  }
}

// Not fmt::print, which throws: what cannot be said does not keep the model from writing.
void print_message(const std::string& line) { std::fputs((line + "\n").c_str(), stderr); }

// The message's line about the run that `path` would be a checkpoint of.
std::string other_checkpoints(const checkpoint::Path& path) {
  checkpoint::FileSystem disk;
  const checkpoint::Path run = path.parent_path();
  std::vector<std::string> names;
  try {
    for (const auto& step : checkpoint::OutFolder(run, disk).steps()) {
      names.push_back(step.folder.filename().string());
    }
  } catch (const Error&) {
    names.clear();  // a folder that cannot be listed has nothing to name
  }
  std::ranges::sort(names);
  if (names.empty()) return "train first, or name the run's folder with --out_dir";
  return fmt::format("{} holds {}: name one of them", run.string(), fmt::join(names, ", "));
}

// Of "out/best/model.safetensors" the folder, which a store reads as one checkpoint.
checkpoint::Path checkpoint_path(const std::string& out_dir) {
  const checkpoint::Path path = out_dir;
  return path.filename() == checkpoint::kModelFile ? path.parent_path() : path;
}

std::vector<std::int32_t> encode_prompt(const tokenizer::Tokenizer& tokenizer,
                                        const std::string& start) {
  std::vector<std::int32_t> tokens = tokenizer.encode(read_prompt(start));
  if (tokens.empty())
    throw ConfigError("start is empty: give at least one character to go on from");
  return tokens;
}

// The data set that it was trained on has its characters, where it has none itself.
void take_dataset(const std::string& saved, config::LoadedConfig& config) {
  if (!config.is_set("dataset")) config.values.dataset = config::config_from_json(saved).dataset;
}

// The model to sample from: init_from's, or out_dir's newest checkpoint, or a ckpt.pt in it.
class SampledModel {
 public:
  // Takes the keys that make the model into `config`.
  explicit SampledModel(config::LoadedConfig& config)
      : store_(checkpoint_path(config.values.out_dir), 1) {
    config::Config& settings = config.values;
    if (starts_from_model(settings)) {
      foreign_ = take_starting_model(config);
      tokenizer_ = foreign_->state.records.tokenizer;
      take_dataset(foreign_->state.config_json, config);
      return;
    }
    std::string saved;
    if (const auto found = store_.peek(checkpoint::Parts::kWeights)) {
      saved = found->state.config_json;
      tokenizer_ = found->state.records.tokenizer;
    } else if (formats::find_format("nanogpt")->is_one(settings.out_dir)) {
      foreign_ = formats::open_checkpoint(settings.out_dir);
      saved = foreign_->state.config_json;
      tokenizer_ = foreign_->state.records.tokenizer;
    } else {
      throw DataError(fmt::format("nothing to sample from: {} holds no checkpoint\n{}",
                                  settings.out_dir,
                                  other_checkpoints(checkpoint_path(settings.out_dir))));
    }
    take_dataset(saved, config);
    take_model_keys(saved, config);
  }

  // The checkpoint's own, where it has one.
  const checkpoint::TokenizerRecord& tokenizer() const { return tokenizer_; }

  void load_into(Generator& generator) const {
    if (foreign_) return generator.load(*foreign_);
    for (const std::string& warning : generator.load(store_).warnings) print_message(warning);
  }

 private:
  checkpoint::CheckpointStore store_;
  checkpoint::TokenizerRecord tokenizer_;
  std::optional<formats::Source> foreign_;
};

}  // namespace

int sample(config::LoadedConfig config) {
  config::Config& settings = config.values;
  device::require_runnable(settings);
  const SampledModel model(config);
  for (const std::string& notice : config.notices) print_message(notice);
  const auto tokenizer = make_sample_tokenizer(config, model.tokenizer());
  const std::vector<std::int32_t> prompt = encode_prompt(*tokenizer, settings.start);

  const std::unique_ptr<device::Device> device = device::device_to_run(settings);
  const auto run =
      plan::plan_sampling(gpt2::make_model_spec(settings, settings.vocab_size), settings.block_size,
                          compute_dtype_named(settings.dtype), device->target());
  const fit::Budget& budget = device->budget();
  if (run->total_bytes() > budget.usable_bytes) {
    throw report::does_not_fit(*run, budget, report::language_of(settings));
  }
  Generator generator(*run, *device);
  model.load_into(generator);

  const Generator::Settings drawing{.seed = static_cast<std::uint64_t>(settings.seed),
                                    .temperature = settings.temperature,
                                    .top_k = settings.top_k,
                                    .top_p = settings.top_p,
                                    .max_new_tokens = settings.max_new_tokens,
                                    .token_count = tokenizer->vocab_size()};
  const console::StopSignal stop;
  const auto start = std::chrono::steady_clock::now();
  std::int64_t drawn = 0;
  for (std::int64_t i = 0; i < settings.num_samples && !stop.requested(); ++i) {
    std::vector<std::int32_t> tokens = prompt;
    print_text(tokenizer->decode(prompt));
    const auto print = [&](std::int32_t token) {
      ++drawn;
      print_text(tokenizer->decode({&token, 1}));
      std::fflush(stdout);
      return !stop.requested();
    };
    generator.generate(drawing, static_cast<std::uint32_t>(i), tokens, print);
    fmt::print("\n---------------\n");
  }
  std::fflush(stdout);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  print_message(fmt::format("{} tokens, {:.0f} tokens/s", with_thousands(drawn),
                            static_cast<double>(drawn) / std::max(taken.count(), 1e-9)));
  return stop.requested() ? stop.exit_code() : 0;
}

}  // namespace snug::train
