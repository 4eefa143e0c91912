// `snug verify OUT_DIR`: whether what was saved is still what was saved.
#include <fmt/format.h>

#include "base/bytes.h"
#include "base/error.h"
#include "checkpoint/verify.h"
#include "cli/cli.h"
#include "cli/help.h"
#include "cli/options.h"

namespace snug::cli {

std::string verify_help() {
  return "snug verify OUT_DIR\n\n"
         "Reads every byte of the checkpoints in OUT_DIR, or of one checkpoint, and\n"
         "compares it with what was saved: sizes, checksums, tensors, links. Changes\n"
         "nothing.\n\n"
         "  snug verify out-shakespeare-char\n"
         "  snug verify out-shakespeare-char/best\n\n"
         "Exit code 0 when all of it is whole, 4 when something is damaged or missing,\n"
         "5 when something could not be read.\n";
}

int verify_command(Arguments arguments) {
  std::vector<std::string> rest(arguments.begin(), arguments.end());
  console::Console console(take_progress(rest));
  const std::vector<std::string> names = OptionReader("verify", rest).names();
  if (names.size() != 1) {
    throw ConfigError("verify takes one folder: snug verify OUT_DIR");
  }
  checkpoint::FileSystem disk;
  const checkpoint::OutDirVerdict verdict =
      checkpoint::verify_out_dir(names[0], disk, [&](std::int64_t bytes) {
        if (!console.wants_progress() && !console.wants_plain_progress()) return;
        const std::string text = fmt::format("verifying, {} read", format_bytes(bytes));
        console.redraws() ? console.progress(text) : console.line(text);
      });
  ExitCode code = verdict.problems.empty() ? ExitCode::kDone : ExitCode::kData;
  for (const checkpoint::CheckpointVerdict& checkpoint : verdict.checkpoints) {
    const char* state = checkpoint.problem.empty() ? "whole"
                        : checkpoint.unreadable    ? "cannot be read"
                                                   : "damaged";
    console.line(fmt::format("{}  iteration {}, save {}, {}: {}", checkpoint.folder.string(),
                             checkpoint.iteration, checkpoint.save_number,
                             format_bytes(checkpoint.byte_count), state));
    if (checkpoint.problem.empty()) continue;
    console.warn("  " + checkpoint.problem);
    if (code != ExitCode::kData) code = checkpoint.unreadable ? ExitCode::kDevice : ExitCode::kData;
  }
  for (const std::string& note : verdict.notes) console.line(note);
  for (const std::string& problem : verdict.problems) console.warn(problem);
  return static_cast<int>(code);
}

}  // namespace snug::cli
