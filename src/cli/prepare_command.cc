#include <fmt/format.h>

#include "base/bytes.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/prepare_bpe.h"
#include "console/console.h"
#include "data/prepare_char.h"
#include "data/tales/tales.h"

namespace snug::cli {
namespace {

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
  const std::vector<std::string> names = OptionReader("prepare char", rest).names();
  if (names.size() != 2) {
    throw ConfigError("prepare char takes two names: snug prepare char INPUT.txt data/NAME");
  }
  const data::PrepareSummary summary =
      data::prepare_char(names[0], names[1], [&](std::int64_t done, std::int64_t total) {
        if (!console.wants_progress() && !console.wants_plain_progress()) return;
        const std::string text = fmt::format(
            "preparing {:3.0f}%", 100.0 * static_cast<double>(done) /
                                      static_cast<double>(std::max<std::int64_t>(total, 1)));
        console.redraws() ? console.progress(text) : console.line(text);
      });
  print_summary(summary, names[1], console);
  return 0;
}

int prepare_built_in_tales(Arguments arguments) {
  OptionReader reader("prepare tales", arguments);
  const auto seed = static_cast<std::uint64_t>(reader.number("seed", 0).value_or(1337));
  const std::int64_t bytes = reader.number("bytes", 0).value_or(data::tales::kDefaultTalesBytes);
  const std::vector<std::string> names = reader.names();
  if (names.size() != 1) {
    throw ConfigError("prepare tales takes the folder to write to: snug prepare tales data/tales");
  }
  const data::tales::TalesSummary tales = data::tales::prepare_tales(names[0], seed, bytes);
  console::Console console;
  print_summary(tales.dataset, names[0], console);
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
