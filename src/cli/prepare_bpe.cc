#include "cli/prepare_bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/bytes.h"
#include "base/error.h"
#include "cli/options.h"
#include "console/console.h"
#include "console/phase_progress.h"
#include "console/stop_signal.h"
#include "prepare/inputs.h"
#include "prepare/prepare_bpe.h"

namespace snug::cli {
namespace {

using namespace prepare;

void print_summary(const BpeSummary& summary, const BpeOptions& options,
                   console::Console& console) {
  if (summary.went_on) console.line("went on from where an earlier run was interrupted");
  console.line(fmt::format("{} document{}, {} characters", with_thousands(summary.counts.documents),
                           summary.counts.documents == 1 ? "" : "s",
                           with_thousands(summary.counts.characters)));
  if (summary.counts.bad_lines > 0) {
    console.line(fmt::format("{} lines left out; the first: {}",
                             with_thousands(summary.counts.bad_lines),
                             summary.counts.first_bad_line));
  }
  if (summary.counts.stray_bytes > 0) {
    console.line(fmt::format(
        "{} bytes are not UTF-8, the first: {}; they are kept as they are\n"
        "if the text has another encoding, convert it: iconv -f ENCODING -t utf-8 OLD > NEW",
        with_thousands(summary.counts.stray_bytes), summary.counts.first_stray));
  }
  console.line(fmt::format("train has {} tokens", with_thousands(summary.train_tokens)));
  console.line(fmt::format("val has {} tokens", with_thousands(summary.val_tokens)));
  if (summary.files.size() == 2) {
    console.line(fmt::format("wrote {} and {} to {}", summary.files[0], summary.files[1],
                             options.directory.string()));
  } else {
    console.line(fmt::format("wrote {} shards, {} to {}, to {}", summary.files.size(),
                             summary.files.front(), summary.files.back(),
                             options.directory.string()));
  }
}

BpeOptions read_options(Arguments arguments) {
  OptionReader reader("prepare bpe", arguments);
  BpeOptions options;
  const auto documents = reader.choice("documents", {"file", "line", "json"});
  options.field = reader.value("field").value_or(options.field);
  options.end_of_text = reader.choice("eot", {"after", "none"}).value_or(0) == 0;
  const auto split = reader.choice("split", {"documents", "characters"});
  const auto val = reader.share("val");
  options.format = reader.choice("format", {"nanogpt", "llmc"}).value_or(0) == 0 ? Format::kNanoGpt
                                                                                 : Format::kLlmc;
  const auto shard = reader.number("shard", 1);
  options.skip_bad_lines = reader.flag("skip-bad");
  options.seed = static_cast<std::uint64_t>(reader.number("seed", 0).value_or(1337));
  const std::int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  options.thread_count = static_cast<int>(
      std::min<std::int64_t>(reader.number("threads", 1).value_or(cores), kMaxThreads));
  std::vector<std::string> names = reader.names();
  if (names.size() < 2) {
    throw ConfigError(
        "prepare bpe takes what to read and the folder to write to:\n"
        "  snug prepare bpe FILE... data/NAME\nFILE may be a pattern, and - is standard input");
  }
  options.directory = names.back();
  names.pop_back();
  options.inputs = expand_inputs(names);
  options.documents =
      documents ? static_cast<DocumentKind>(*documents) : document_kind_of(options.inputs.front());
  // What nanoGPT does with a text (Shakespeare) and with documents (OpenWebText).
  const bool whole_text = options.documents == DocumentKind::kFile;
  options.split =
      split ? static_cast<Split>(*split) : (whole_text ? Split::kCharacters : Split::kDocuments);
  options.val_share = val.value_or(options.split == Split::kCharacters ? 0.1 : 0.0005);
  if (shard) {
    if (options.format != Format::kLlmc) throw ConfigError("--shard=N goes with --format=llmc");
    options.shard_tokens = std::min<std::int64_t>(*shard, kMaxShardTokens);
  }
  return options;
}

}  // namespace

void run_prepare_bpe(const BpeOptions& options) {
  console::Console console;
  const console::StopSignal stop;
  console::PhaseProgress progress;
  BpeHooks hooks;
  hooks.stop = [&] { return stop.requested(); };
  hooks.progress = [&](const BpeProgress& now) {
    const auto time = std::chrono::steady_clock::now();
    const console::PhaseFacts facts{now.phase, now.taken_bytes, now.total_bytes, now.tokens};
    progress.see(facts, time);
    if (console.wants_progress()) console.progress(progress.text(facts, time));
    if (console.wants_plain_progress()) console.line(progress.text(facts, time));
  };
  try {
    print_summary(prepare_bpe(options, hooks), options, console);
  } catch (const StoppedError& error) {
    throw Error(static_cast<ExitCode>(stop.exit_code()), error.what());
  }
}

int prepare_bpe_command(Arguments arguments) {
  run_prepare_bpe(read_options(arguments));
  return 0;
}

}  // namespace snug::cli
