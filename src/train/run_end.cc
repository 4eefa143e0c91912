#include "train/run_end.h"

#include <fmt/format.h>

#include <cmath>

#include "base/bytes.h"
#include "base/shell_word.h"
#include "console/console.h"
#include "report/shell_command.h"

namespace snug::train {

std::vector<std::string> end_lines(const RunEnd& end) {
  std::vector<std::string> lines;
  std::string line =
      fmt::format("{} iteration{} in {}", with_thousands(end.iterations),
                  end.iterations == 1 ? "" : "s", console::format_duration(end.seconds));
  if (std::isfinite(end.last_loss)) line += fmt::format("; last loss {:.4f}", end.last_loss);
  if (std::isfinite(end.best_val_loss)) {
    line += fmt::format("; best val loss {:.4f}", end.best_val_loss);
  }
  lines.push_back(line);
  const std::int64_t unsaved = end.iteration - end.saved_iteration;
  if (end.saved_iteration >= 0 && unsaved > 0) {
    lines.push_back(fmt::format(
        "the last {} not saved: always_save_checkpoint is off, and the checkpoint of iteration "
        "{} is the best",
        unsaved == 1 ? "iteration is" : fmt::format("{} iterations are", with_thousands(unsaved)),
        end.saved_iteration));
  }
  if (!end.folder.empty()) {
    lines.push_back(fmt::format("checkpoint {}; let it write: snug sample {}", end.folder,
                                shell_quoted("--out_dir=" + end.out_dir)));
  }
  return lines;
}

}  // namespace snug::train
