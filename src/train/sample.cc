// The command around Generator: checkpoint, tokenizer, prompt, printing.
#include <fmt/format.h>

#include <cstdio>

#include "base/bytes.h"
#include "base/error.h"
#include "base/input_file.h"
#include "checkpoint/checkpoint_store.h"
#include "console/stop_signal.h"
#include "data/char_tokenizer.h"
#include "data/vocabulary.h"
#include "device/choose.h"
#include "gpt2/spec.h"
#include "report/plan/refusal.h"
#include "train/generate.h"
#include "train/resume.h"

namespace snug {
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

// Not fmt::print, which throws: what cannot be said does not keep the model from writing.
void print_message(const std::string& line) { std::fputs((line + "\n").c_str(), stderr); }

// config.vocab_size is the model's. A model may know more tokens than the data set (a vocabulary
// rounded up), never fewer.
Meta tokenizer_of(const Config& config) {
  const std::string folder = dataset_folder(config);
  std::optional<Meta> meta = read_meta(folder);
  if (!meta || meta->itos.empty()) {
    throw DataError(fmt::format(
        "the model was trained on '{}', but {}/meta.pkl {}\n"
        "sampling needs the data set's meta.pkl below the current folder (GPT-2's own tokenizer is "
        "not built in yet)",
        config.dataset, folder, meta ? "has no characters" : "is not there"));
  }
  if (meta->vocab_size > config.vocab_size) {
    throw DataError(fmt::format(
        "{}/meta.pkl does not belong to the model in {}: it has too many characters\n"
        "the model knows {}, the data set has {}\n"
        "name the data set the model was trained on with --dataset, or prepare it again from the "
        "same text",
        folder, config.out_dir, config.vocab_size, meta->vocab_size));
  }
  return std::move(*meta);
}

std::vector<std::int32_t> encode_prompt(const CharTokenizer& tokenizer, const std::string& start) {
  std::vector<std::int32_t> tokens = tokenizer.encode(read_prompt(start));
  if (tokens.empty())
    throw ConfigError("start is empty: give at least one character to go on from");
  return tokens;
}

}  // namespace

void sample(LoadedConfig config) {
  Config& settings = config.values;
  require_runnable(settings);
  const CheckpointStore store(settings.out_dir, 1);
  const auto found = store.peek(Parts::kWeights);
  if (!found) {
    throw DataError(
        fmt::format("nothing to sample from: {} holds no checkpoint\n"
                    "train first, or name the run's folder with --out_dir",
                    settings.out_dir));
  }
  if (!config.is_set("dataset")) {
    settings.dataset = config_from_json(found->state.config_json).dataset;
  }
  take_model_keys(found->state.config_json, config);
  for (const std::string& notice : config.notices) print_message(notice);
  const CharTokenizer tokenizer(tokenizer_of(settings));
  const std::vector<std::int32_t> prompt = encode_prompt(tokenizer, settings.start);

  const std::unique_ptr<Device> device = device_to_run(settings);
  const auto run = plan_sampling(make_model_spec(settings, settings.vocab_size),
                                 settings.block_size, DType::kF32, device->target());
  const Budget& budget = device->budget();
  if (run->total_bytes() > budget.usable_bytes) throw does_not_fit(*run, budget);
  Generator generator(*run, *device);
  for (const std::string& warning : generator.load(store).warnings) print_message(warning);

  const Generator::Settings drawing{.seed = static_cast<std::uint64_t>(settings.seed),
                                    .temperature = settings.temperature,
                                    .top_k = settings.top_k,
                                    .max_new_tokens = settings.max_new_tokens,
                                    .token_count = tokenizer.vocab_size()};
  const StopSignal stop;
  for (std::int64_t i = 0; i < settings.num_samples && !stop.requested(); ++i) {
    std::vector<std::int32_t> tokens = prompt;
    fmt::print("{}", tokenizer.decode(prompt));
    const auto print = [&](std::int32_t token) {
      fmt::print("{}", tokenizer.decode({&token, 1}));
      std::fflush(stdout);
      return !stop.requested();
    };
    generator.generate(drawing, static_cast<std::uint32_t>(i), tokens, print);
    fmt::print("\n---------------\n");
  }
}

}  // namespace snug
