// `snug plot`: the losses of runs as a page and a drawing.
#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "data/atomic_file.h"
#include "metrics/run_history.h"
#include "report/plot/loss_chart.h"
#include "report/plot/page.h"

namespace snug::cli {

int plot_command(Arguments arguments) {
  OptionReader reader("plot", arguments);
  const std::filesystem::path page = reader.value("out").value_or("plot.html");
  const std::vector<std::string> names = reader.names();
  if (names.empty()) throw ConfigError("plot takes the out_dir of one or more runs: snug plot out");
  std::filesystem::path drawing = page;
  drawing.replace_extension(".svg");
  if (drawing == page) throw ConfigError("--out names the page, such as plot.html");
  std::vector<metrics::RunHistory> runs;
  for (const std::string& name : names) runs.push_back(metrics::read_history(name));
  data::write_file(page, report::plot_page(runs));
  data::write_file(drawing, report::loss_chart(runs));
  for (const metrics::RunHistory& run : runs) {
    if (run.ignored_lines == 0) continue;
    fmt::print("{}: {} lines of metrics.jsonl could not be read\n", run.name, run.ignored_lines);
  }
  fmt::print("wrote {} and {}\n", page.string(), drawing.string());
  return 0;
}

}  // namespace snug::cli
