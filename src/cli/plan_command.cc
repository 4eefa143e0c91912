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
#include "device/build_features.h"
#include "device/choose.h"
#include "fit/fixes.h"
#include "fit/outcome.h"
#include "report/catalogue/error_texts.h"
#include "report/plan/budget_text.h"
#include "report/plan/fix_text.h"
#include "report/plan/page.h"
#include "report/plan/report.h"
#include "report/plan/words.h"
#include "train/resume.h"
#include "train/starting_model.h"

namespace snug::cli {
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

const fit::Fix* chosen_of(const fit::Fixes& fixes) {
  if (fixes.chosen_at) return &fixes.ranked[*fixes.chosen_at];
  return fixes.chosen ? &*fixes.chosen : nullptr;
}

// What the text shows, too: where it fits, what the spare memory buys; else every fix in its order.
std::vector<const fit::Fix*> shown_fixes(const fit::Fixes& fixes) {
  std::vector<const fit::Fix*> shown;
  if (fixes.fits_as_is) {
    if (const fit::Fix* chosen = chosen_of(fixes)) shown.push_back(chosen);
    for (const fit::Fix& fix : fixes.spare) shown.push_back(&fix);
    return shown;
  }
  for (const fit::Fix& fix : fixes.ranked) {
    if (fix.helps()) shown.push_back(&fix);
  }
  return shown;
}

// The page shows the config as it is, then these.
void write_page(const std::string& path, const report::PlanReportInput& in,
                const fit::Planner& planner) {
  report::PlanPage page;
  page.title = report::plan_subject(in.language, in.training, in.config.values);
  page.command = fmt::format("snug plan {}", fmt::join(in.arguments, " "));
  page.budget = in.budget;
  page.language = in.language;
  page.fits_as_is = in.fixes.fits_as_is;
  if (in.card != nullptr) page.support = report::support_text(in.language, in.support, *in.card);
  std::vector<std::unique_ptr<plan::RunPlan>> runs;
  const auto add = [&](const std::string& name, const plan::RunPlan& run,
                       const config::Config& config, const fit::Fix* fix) {
    page.settings.push_back({name, &run, fix, report::plan_subject(in.language, run, config),
                             fit::estimate_time(run, config, planner.rates()), config.max_iters});
  };
  add(report::text_in(in.language, report::PlanTextId::kPageAsIs), in.training, in.config.values,
      nullptr);
  for (const fit::Fix* fix : shown_fixes(in.fixes)) {
    runs.push_back(planner.plan(fix->config));
    if (fix == chosen_of(in.fixes)) {
      page.recommended = page.settings.size();
      page.train = report::next_command(in);
    }
    add(report::fix_name(in.language, in.fixes.before, *fix), *runs.back(), fix->config, fix);
  }
  data::write_file(path, report::plan_page(page));
}

// A run that goes on is planned as `train` plans it; where there is none yet, as the config says.
std::optional<train::ResumePoint> resume_point(config::LoadedConfig& config) {
  if (config.values.init_from != "resume") return std::nullopt;
  const std::string out_dir = config.values.out_dir;
  auto point = train::take_resume_point(checkpoint::CheckpointStore(out_dir, 1), config);
  if (!point) {
    config.notices.push_back(
        fmt::format("{} holds no checkpoint to resume: the model is the config's", out_dir));
  }
  return point;
}

// OpenAI's models can be planned without their files; of others the sizes are in the file.
void take_named_model(config::LoadedConfig& config) {
  const bool is_path = config.values.init_from.find_first_of("/.") != std::string::npos;
  if (is_path && train::starts_from_model(config.values)) train::take_starting_model(config);
}

// Whether this build trains on the device's card.
fit::CardSupport support_of(const device::Device& device) {
  if (const auto facts = device.card_facts(); facts && facts->is_emulated) {
    return fit::CardSupport::kEmulated;
  }
  return device.card() != nullptr ? device::card_support(*device.card())
                                  : fit::CardSupport::kNoBackend;
}

}  // namespace

int plan_command(Arguments arguments) {
  std::vector<std::string> rest(arguments.begin(), arguments.end());
  const bool json = take_flag(rest, "--json");
  const std::optional<std::string> html = take_html(rest);
  config::LoadedConfig config = config::load_config(config::Command::kPlan, rest);
  const std::optional<train::ResumePoint> resume = resume_point(config);
  take_named_model(config);
  const report::Language language = report::language_of(config.values);
  const std::unique_ptr<device::Device> device = device::device_to_plan(config);
  const data::Vocabulary vocabulary = data::find_vocabulary(config);
  const fit::Planner planner(device->target(), vocabulary.size,
                             device->rates(config.values, vocabulary.size));
  fit::Fixes fixes = fit::find_fixes(planner, config, device->budget());
  if (resume && !fixes.fits_as_is) {
    config.values.fit = config.values.fit || resume->fit;
    config.values.safest = config.values.safest || resume->safest;
  }
  if (config.values.fit || config.values.safest) {
    const fit::FitOutcome outcome = fit::apply_fix(config, fixes, device->budget().usable_bytes);
    const std::vector<std::string> lines =
        report::fit_lines(outcome, device->card() != nullptr, language);
    config.notices.insert(config.notices.end(), lines.begin(), lines.end());
    fixes = fit::find_fixes(planner, config, device->budget());
  }
  const auto training = planner.plan(config.values);
  const auto sampling =
      plan::plan_sampling(training->model, config.values.block_size,
                          compute_dtype_named(config.values.dtype), device->target());
  const report::PlanReportInput input{config,
                                      *training,
                                      *sampling,
                                      report::translated(language, vocabulary.origin),
                                      device->budget(),
                                      device->card(),
                                      support_of(*device),
                                      fit::estimate_time(*training, config.values, planner.rates()),
                                      fixes,
                                      rest,
                                      wants_color(config.values.color),
                                      language};
  if (json) {
    fmt::print("{}", report::plan_json(input));
  } else {
    for (const std::string& notice : config.notices) {
      print_report(report::translated(language, notice) + "\n");
    }
    print_report(report::plan_text(input));
  }
  std::fflush(stdout);
  if (html) write_page(*html, input, planner);
  if (html && !json) {
    fmt::print("\n  {}   {}\n", report::text_in(language, report::PlanTextId::kThePicture), *html);
  }
  return static_cast<int>(input.fits() ? ExitCode::kDone : ExitCode::kDoesNotFit);
}

}  // namespace snug::cli
