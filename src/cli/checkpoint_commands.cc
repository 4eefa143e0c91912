#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/error.h"
#include "base/input_file.h"
#include "cli/checkpoint_commands.h"
#include "config/config.h"
#include "data/token_rows.h"
#include "device/choose.h"
#include "formats/format.h"
#include "train/starting_model.h"
#include "train/token_loss.h"

namespace snug::cli {
namespace {

constexpr std::int64_t kMaxTokenFileBytes = 64 * kMiB;

// Takes --name=VALUE out of the arguments; the last one wins, "" when there is none.
std::string take_option(std::vector<std::string>& arguments, const std::string& name) {
  const std::string prefix = "--" + name + "=";
  std::string value;
  for (const std::string& argument : arguments) {
    if (argument.starts_with(prefix)) value = argument.substr(prefix.size());
  }
  std::erase_if(arguments, [&](const std::string& a) { return a.starts_with(prefix); });
  return value;
}

DType dtype_to_write(const std::string& name) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    if (name == name_of(dtype) || name.empty()) return dtype;
  }
  throw ConfigError(
      fmt::format("--dtype={}: it can be float32, bfloat16 (llm.c, GGUF) or float16 (GGUF)", name));
}

void describe(const formats::Source& source) {
  const config::GptSizes& sizes = source.sizes;
  fmt::print(
      "{}: {} layers, {} heads, {} wide, {} positions, vocabulary {}, {} biases, GELU by {}\n",
      source.name, sizes.n_layer, sizes.n_head, sizes.n_embd, sizes.block_size, sizes.vocab_size,
      sizes.bias ? "with" : "without", sizes.gelu);
  if (source.state.iteration > 0) {
    fmt::print("{} iterations done, best loss {:.4f}, {} optimizer state\n", source.state.iteration,
               source.state.best_val_loss, source.has_optimizer ? "with" : "without");
  }
  for (const std::string& notice : source.notices) fmt::print("{}\n", notice);
}

// What the format cannot carry is said, not dropped silently.
void tell_losses(const formats::Source& source, const formats::Format& format, DType dtype) {
  if (!format.keeps_training && source.has_optimizer) {
    fmt::print("the optimizer's state stays behind: {} has no place for it\n", format.description);
  }
  if (!format.gelu.empty() && format.gelu != source.sizes.gelu) {
    fmt::print(
        "the model has GELU's {} form, and where this file goes the {} form is computed:\n"
        "losses and logits will differ, by about 1e-3\n",
        source.sizes.gelu, format.gelu);
  }
  if (dtype != DType::kF32) fmt::print("weights are rounded to {}\n", name_of(dtype));
}

// A folder, which nanoGPT has for its --out_dir, gets the file that it looks for there.
std::string place_for(const formats::Format& format, const std::string& to) {
  std::error_code ignored;
  const bool is_folder = to.ends_with('/') || std::filesystem::is_directory(to, ignored);
  return format.name == "nanogpt" && is_folder ? (std::filesystem::path(to) / "ckpt.pt").string()
                                               : to;
}

}  // namespace

int convert_command(Arguments arguments) {
  std::vector<std::string> rest(arguments.begin(), arguments.end());
  const std::string wanted = take_option(rest, "to");
  const DType dtype = dtype_to_write(take_option(rest, "dtype"));
  for (const std::string& argument : rest) {
    if (!argument.starts_with("--")) continue;
    throw ConfigError(
        fmt::format("convert does not know '{}'; it takes --to= and --dtype=", argument));
  }
  if (rest.size() != 2) {
    throw ConfigError("convert takes two names: snug convert FROM TO [--to=FORMAT]");
  }
  const formats::Source source = formats::open_checkpoint(train::locate_model(rest[0]));
  const formats::Format& format = formats::format_to_write(source, rest[1], wanted);
  if (dtype != DType::kF32 && !format.has_dtypes) {
    throw ConfigError(
        fmt::format("--dtype={}: {} is written in float32", name_of(dtype), format.description));
  }
  describe(source);
  tell_losses(source, format, dtype);
  std::fflush(stdout);
  const std::string to = place_for(format, rest[1]);
  format.write(source, to, {.dtype = dtype});
  fmt::print("wrote {}: {}\n", to, format.description);
  return 0;
}

int eval_command(Arguments arguments) {
  std::vector<std::string> rest(arguments.begin(), arguments.end());
  const bool json = take_flag(rest, "--json");
  const std::string file = take_option(rest, "tokens");
  const auto is_name = [](const std::string& argument) { return !argument.starts_with("--"); };
  const auto name = std::find_if(rest.begin(), rest.end(), is_name);
  if (file.empty() || name == rest.end()) {
    throw ConfigError(
        "eval takes a checkpoint and tokens: snug eval CHECKPOINT --tokens=FILE.json");
  }
  const std::string checkpoint = *name;
  rest.erase(name);
  const config::LoadedConfig config =
      config::load_config(config::Command::kSample, rest);  // device, threads, budget
  const data::TokenRows rows =
      data::parse_token_rows(read_whole_file(file, kMaxTokenFileBytes), file);
  const formats::Source source = formats::open_checkpoint(train::locate_model(checkpoint));
  const std::unique_ptr<device::Device> device = device::device_to_run(config.values);
  const train::TokenLoss found =
      train::loss_of(source, rows, *device, report::language_of(config.values), json);
  if (json) {
    const nlohmann::ordered_json result = {
        {"loss", found.mean}, {"rows", found.rows}, {"logits_last", found.logits}};
    fmt::print("{}\n", result.dump());
  } else {
    fmt::print("loss {:.7f}\n{} targets in {} rows of {} tokens\n", found.mean,
               with_thousands(found.target_count), rows.row_count, rows.length);
  }
  return 0;
}

std::string convert_help() {
  return "snug convert FROM TO [--to=FORMAT] [--dtype=TYPE]\n\n"
         "Reads a checkpoint of Snug (an out_dir), nanoGPT (ckpt.pt), Hugging Face (a\n"
         "folder, or the name of a downloaded model) or llm.c (model.bin), and writes\n"
         "another. Nothing is overwritten.\n\n"
         "  --to=FORMAT     snug, nanogpt, huggingface, llmc or gguf; else by TO's ending\n"
         "                  (.pt, .bin, .gguf), and for a folder huggingface from snug,\n"
         "                  snug from others; nanogpt into a folder (FOLDER/) is its\n"
         "                  ckpt.pt\n"
         "  --dtype=TYPE    float32, bfloat16 (llmc, gguf) or float16 (gguf)\n\n"
         "  snug convert out/ckpt.pt out-snug\n"
         "  snug convert out-snug my-model        # for from_pretrained\n"
         "  snug convert gpt2 gpt2.gguf --dtype=float16\n";
}

std::string eval_help() {
  return "snug eval CHECKPOINT --tokens=FILE.json [--json] [--threads=N]\n\n"
         "Prints the mean loss of given tokens: {\"tokens\": [[...]], \"targets\": [[...]]}.\n"
         "Without targets each token is to be predicted from those before it. CHECKPOINT\n"
         "is whatever `snug convert` reads.\n\n"
         "  --json          one JSON object, with the logits after each row's last token\n";
}

}  // namespace snug::cli
