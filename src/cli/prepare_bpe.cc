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
#include "console/stop_signal.h"
#include "prepare/inputs.h"
#include "prepare/prepare_bpe.h"

namespace snug::cli {
namespace {

using Clock = std::chrono::steady_clock;
using namespace prepare;

// "encoding  37%  1,234,567 tokens  52.3 MB/s  ETA 12m"
class ProgressText {
 public:
  // Of everything, also where no text is wanted: a phase begins with its first.
  void see(const BpeProgress& now) {
    if (now.phase == phase_) return;
    phase_ = now.phase;
    start_ = Clock::now();
    start_bytes_ = now.taken_bytes;
  }
  std::string of(const BpeProgress& now) const {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    const double rate =
        static_cast<double>(now.taken_bytes - start_bytes_) / std::max(seconds, 1e-3);
    std::string text = now.phase;
    if (now.total_bytes > 0) {
      text += fmt::format("  {:3.0f}%", 100.0 * static_cast<double>(now.taken_bytes) /
                                            static_cast<double>(now.total_bytes));
    }
    if (now.tokens > 0) text += fmt::format("  {} tokens", with_thousands(now.tokens));
    text += fmt::format("  {:.1f} MB/s", rate / 1e6);
    if (now.total_bytes > 0 && rate > 0) {
      text += fmt::format(
          "  ETA {}",
          console::format_duration(static_cast<double>(now.total_bytes - now.taken_bytes) / rate));
    }
    return text;
  }

 private:
  std::string phase_;
  Clock::time_point start_;
  std::int64_t start_bytes_ = 0;
};

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
  ProgressText text;
  BpeHooks hooks;
  hooks.stop = [&] { return stop.requested(); };
  hooks.progress = [&](const BpeProgress& now) {
    text.see(now);
    if (console.wants_progress()) console.progress(text.of(now));
    if (console.wants_plain_progress()) console.line(text.of(now));
  };
  print_summary(prepare_bpe(options, hooks), options, console);
}

int prepare_bpe_command(Arguments arguments) {
  run_prepare_bpe(read_options(arguments));
  return 0;
}

}  // namespace snug::cli
