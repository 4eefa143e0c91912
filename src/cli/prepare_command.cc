#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/bytes.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/prepare_bpe.h"
#include "console/console.h"
#include "data/prepare_char.h"
#include "data/tales/tales.h"

namespace snug::cli {
namespace {

// The value of --name=N among the arguments; the later one wins.
std::optional<std::int64_t> number_option(Arguments arguments, const std::string& name) {
  const std::string prefix = "--" + name + "=";
  std::optional<std::int64_t> found;
  for (const std::string& argument : arguments) {
    if (argument.rfind(prefix, 0) != 0) continue;
    std::int64_t value = 0;
    const char *first = argument.data() + prefix.size(), *last = argument.data() + argument.size();
    const auto [end, error] = std::from_chars(first, last, value);
    if (error != std::errc() || end != last || value < 0) {
      throw ConfigError(fmt::format("{} is not a whole number of 0 or more", argument));
    }
    found = value;
  }
  return found;
}

void print_summary(const data::PrepareSummary& summary, const std::string& folder,
                   console::Console& console) {
  console.line(
      fmt::format("length of dataset in characters: {}", with_thousands(summary.character_count)));
  console.line(fmt::format("vocab size: {}", with_thousands(summary.vocab_size)));
  console.line(fmt::format("train has {} tokens", with_thousands(summary.train_token_count)));
  console.line(fmt::format("val has {} tokens", with_thousands(summary.val_token_count)));
  console.line(fmt::format("wrote train.bin, val.bin and meta.pkl to {}", folder));
}

int prepare_characters(Arguments arguments) {
  std::vector<std::string> rest(arguments.begin(), arguments.end());
  console::Console console(take_progress(rest));
  if (rest.size() != 2) {
    throw ConfigError("prepare char takes two names: snug prepare char INPUT.txt data/NAME");
  }
  const data::PrepareSummary summary =
      data::prepare_char(rest[0], rest[1], [&](std::int64_t done, std::int64_t total) {
        if (!console.wants_progress() && !console.wants_plain_progress()) return;
        const std::string text = fmt::format(
            "preparing {:3.0f}%", 100.0 * static_cast<double>(done) /
                                      static_cast<double>(std::max<std::int64_t>(total, 1)));
        console.redraws() ? console.progress(text) : console.line(text);
      });
  print_summary(summary, rest[1], console);
  return 0;
}

int prepare_built_in_tales(Arguments rest) {
  if (rest.empty() || rest[0].rfind("--", 0) == 0) {
    throw ConfigError("prepare tales takes the folder to write to: snug prepare tales data/tales");
  }
  for (const std::string& argument : rest.subspan(1)) {
    if (argument.rfind("--seed=", 0) != 0 && argument.rfind("--bytes=", 0) != 0) {
      throw ConfigError(fmt::format(
          "prepare tales does not know '{}'; it takes --seed=N and --bytes=N", argument));
    }
  }
  const auto seed = static_cast<std::uint64_t>(number_option(rest, "seed").value_or(1337));
  const std::int64_t bytes = number_option(rest, "bytes").value_or(data::tales::kDefaultTalesBytes);
  const data::tales::TalesSummary tales = data::tales::prepare_tales(rest[0], seed, bytes);
  console::Console console;
  print_summary(tales.dataset, rest[0], console);
  fmt::print(
      "entropy of the grammar: {:.4f} nats per character of val.bin; no model can do better\n",
      tales.val_nats_per_char);
  return 0;
}

}  // namespace

int prepare_command(Arguments arguments) {
  if (!arguments.empty() && arguments[0] == "char") return prepare_characters(arguments.subspan(1));
  if (!arguments.empty() && arguments[0] == "tales") {
    return prepare_built_in_tales(arguments.subspan(1));
  }
  if (!arguments.empty() && arguments[0] == "bpe") return prepare_bpe_command(arguments.subspan(1));
  for (const bool characters : {false, true}) {
    if (arguments.empty() || arguments[0] != (characters ? "shakespeare_char" : "shakespeare"))
      continue;
    return prepare_shakespeare_command(arguments.subspan(1), characters);
  }
  throw ConfigError(
      "prepare takes what to make: snug prepare bpe FILE... FOLDER, snug prepare char INPUT.txt "
      "FOLDER,\nsnug prepare shakespeare, snug prepare shakespeare_char, or snug prepare tales "
      "FOLDER");
}

}  // namespace snug::cli
