// `snug plan`: what a run needs, whether it fits, what to change.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/error.h"
#include "cli/cli.h"
#include "config/config.h"
#include "data/atomic_file.h"
#include "data/vocabulary.h"
#include "device/choose.h"
#include "fit/fixes.h"
#include "fit/outcome.h"
#include "report/plan/fix_text.h"
#include "report/plan/page.h"
#include "report/plan/report.h"
#include "train/resume.h"

namespace snug {
namespace {

// Takes --html=FILE out of the arguments; the last one wins.
std::optional<std::string> take_html(std::vector<std::string>& arguments) {
  constexpr std::string_view kOption = "--html=";
  std::optional<std::string> path;
  for (const std::string& argument : arguments) {
    if (!argument.starts_with("--html")) continue;
    if (!argument.starts_with(kOption) || argument.size() == kOption.size()) {
      throw ConfigError(
          "--html needs the name of the page\nwrite it as one word: --html=plan.html");
    }
    path = argument.substr(kOption.size());
  }
  std::erase_if(arguments, [](const std::string& a) { return a.starts_with("--html"); });
  return path;
}

std::string page_title(const RunPlan& run, const Config& config) {
  const DType compute = run.program.tensor(run.program.compute_weights.front()).dtype;
  return fmt::format("{:.1f}M parameters · {} layers × {} · {} × {} tokens · {}",
                     static_cast<double>(run.model.reported_parameter_count()) / 1e6,
                     run.model.n_layer, run.model.n_embd, config.batch_size, config.block_size,
                     name_of(compute));
}

// The page shows the config as it is, then every fix in its order.
void write_page(const std::string& path, const PlanReportInput& in, const Planner& planner) {
  PlanPage page;
  page.title = page_title(in.training, in.config.values);
  page.command = fmt::format("snug plan {}", fmt::join(in.arguments, " "));
  page.budget = in.budget;
  std::vector<std::unique_ptr<RunPlan>> runs;
  page.settings.push_back({"as it is", &in.training, nullptr});
  for (const Fix& fix : in.fixes.ranked) {
    if (!fix.helps()) continue;
    runs.push_back(planner.plan(fix.config));
    page.settings.push_back({fix_name(in.fixes.before, fix), runs.back().get(), &fix});
  }
  write_file(path, plan_page(page));
}

// A run that goes on is planned as `train` plans it; where there is none yet, as the config says.
std::optional<ResumePoint> resume_point(LoadedConfig& config) {
  if (config.values.init_from != "resume") return std::nullopt;
  const std::string out_dir = config.values.out_dir;
  auto point = take_resume_point(CheckpointStore(out_dir, 1), config);
  if (!point) {
    config.notices.push_back(
        fmt::format("{} holds no checkpoint to resume: the model is the config's", out_dir));
  }
  return point;
}

}  // namespace

int plan_command(Arguments arguments) {
  std::vector<std::string> rest(arguments.begin(), arguments.end());
  const bool json = take_flag(rest, "--json");
  const std::optional<std::string> html = take_html(rest);
  LoadedConfig config = load_config(Command::kPlan, rest);
  const std::optional<ResumePoint> resume = resume_point(config);
  const std::unique_ptr<Device> device = device_to_plan(config);
  const Vocabulary vocabulary = find_vocabulary(config.values);
  const Planner planner(device->target(), vocabulary.size,
                        device->rates(config.values, vocabulary.size));
  Fixes fixes = find_fixes(planner, config, device->budget());
  if (resume && !fixes.fits_as_is) {
    config.values.fit = config.values.fit || resume->fit;
    config.values.safest = config.values.safest || resume->safest;
  }
  if (config.values.fit || config.values.safest) {
    const FitOutcome outcome = apply_fix(config, fixes, device->budget().usable_bytes);
    const std::vector<std::string> lines = fit_lines(outcome, device->card() != nullptr);
    config.notices.insert(config.notices.end(), lines.begin(), lines.end());
    fixes = find_fixes(planner, config, device->budget());
  }
  const auto training = planner.plan(config.values);
  const auto sampling = plan_sampling(training->model, config.values.block_size,
                                      compute_dtype_named(config.values.dtype), device->target());
  const PlanReportInput input{config,
                              *training,
                              *sampling,
                              vocabulary.origin,
                              device->budget(),
                              device->card(),
                              estimate_time(*training, config.values, planner.rates()),
                              fixes,
                              rest,
                              wants_color(config.values.color)};
  if (json) {
    fmt::print("{}", plan_json(input));
  } else {
    for (const std::string& notice : config.notices) fmt::print("{}\n", notice);
    fmt::print("{}", plan_text(input));
  }
  std::fflush(stdout);
  if (html) write_page(*html, input, planner);
  if (html && !json) fmt::print("\n  The picture:   {}\n", *html);
  return static_cast<int>(input.fits() ? ExitCode::kDone : ExitCode::kDoesNotFit);
}

}  // namespace snug
