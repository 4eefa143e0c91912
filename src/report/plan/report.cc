#include "report/plan/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/shell_word.h"
#include "plan/liveness.h"
#include "report/columns.h"
#include "report/numbers.h"
#include "report/plan/budget_text.h"
#include "report/plan/fix_table.h"
#include "report/plan/words.h"
#include "report/shell_command.h"
#include "report/text.h"

namespace snug::report {
namespace {

constexpr int kBarCells = 30;
constexpr std::size_t kPageColumns = 80, kNameColumns = 18, kPhaseIndent = 14;
constexpr std::size_t kLargestShown = 6;

const plan::PlanStep& peak_of(const plan::RunPlan& run) {
  return run.plan.steps[run.plan.peak_step];
}

std::string lines_of(const std::string& sentence) {
  std::string text;
  for (const std::string& line : wrapped(sentence, kPageColumns - 2)) {
    text += fmt::format("  {}\n", line);
  }
  return text;
}

std::string verdict_word(const PlanReportInput& in) {
  switch (in.verdict()) {
    case fit::Verdict::kFits:
      return painted(in.color, "1;32", text_in(in.language, PlanTextId::kFits));
    case fit::Verdict::kBarelyFits:
      return painted(in.color, "1;33", text_in(in.language, PlanTextId::kBarelyFits));
    case fit::Verdict::kDoesNotFit:
      return painted(in.color, "1;31", text_in(in.language, PlanTextId::kDoesNotFit));
  }
  return "";
}

std::string verdict(const PlanReportInput& in) {
  std::string need = bytes_in(in.language, in.training.total_bytes());
  const bool looks_equal = need == bytes_in(in.language, in.budget.limit_bytes());
  if (looks_equal && !in.fits()) {
    need = fmt::format("{} B", thousands_in(in.language, in.training.total_bytes()));
  }
  std::string text = fmt::format("  {}  {}\n{}", verdict_word(in),
                                 need_against_budget(in.language, need, in.budget),
                                 budget_parts(in.language, in.budget));
  if (in.verdict() == fit::Verdict::kBarelyFits) {
    text += lines_of(text_in(in.language, PlanTextId::kBarelyWhy));
  }
  if (in.card != nullptr) text += lines_of(support_text(in.language, in.support, *in.card));
  return text;
}

DType compute_dtype(const plan::RunPlan& run) {
  return run.program.tensor(run.program.compute_weights.front()).dtype;
}

std::string subject(const PlanReportInput& in) {
  const config::Config& c = in.config.values;
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  return fmt::format("  {}\n  {}\n  {}\n", plan_subject(in.language, in.training, c),
                     text_in(in.language, PlanTextId::kEffectiveBatch,
                             {number(config::effective_batch_of(c)), number(c.batch_size),
                              number(c.gradient_accumulation_steps)}),
                     text_in(in.language, PlanTextId::kVocabulary,
                             {number(in.training.model.vocab_size), in.vocabulary_origin}));
}

std::string loss_note(const PlanReportInput& in) {
  const plan::RunPlan& run = in.training;
  const bool training = !run.program.gradients.empty();
  const program::Phase& step =
      run.program.phase(training ? program::PhaseKind::kMicroStep : program::PhaseKind::kEvaluate);
  const std::int64_t rows = step.batch_size * step.block_size;
  if (step.loops.empty() || step.loops[0].chunk_rows >= rows) return "";
  const std::int64_t whole = rows * run.model.vocab_size * size_of(compute_dtype(run));
  return "  " + text_in(in.language, PlanTextId::kLossChunk,
                        {thousands_in(in.language, step.loops[0].chunk_rows),
                         thousands_in(in.language, rows), bytes_in(in.language, whole)});
}

std::string role_rows(const PlanReportInput& in) {
  const plan::RunPlan& run = in.training;
  const plan::RoleBytes& roles = peak_of(run).by_role;
  const std::int64_t gaps = run.plan.arena_bytes - run.plan.lower_bound_bytes;
  const std::int64_t largest =
      std::max(*std::max_element(roles.begin(), roles.end()), run.overhead_bytes);
  std::string text;
  const auto row = [&](const std::string& name, std::int64_t bytes, const std::string& note) {
    std::string line =
        fmt::format("  {} {:>12}  {}{}", left(name, kNameColumns), bytes_in(in.language, bytes),
                    bar(bytes, largest, kBarCells), note);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  const auto word = [&](PlanTextId id) { return text_in(in.language, id); };
  for (int role = 0; role < kRoleCount; ++role) {
    const auto r = static_cast<Role>(role);
    const std::int64_t bytes = roles[static_cast<std::size_t>(role)];
    row(role_name(in.language, r), bytes, r == Role::kLossHead && bytes > 0 ? loss_note(in) : "");
  }
  if (gaps > 0) row(word(PlanTextId::kGaps), gaps, "");
  if (run.overhead_bytes > 0) {
    row(word(PlanTextId::kOutside), run.overhead_bytes, "  " + word(PlanTextId::kOutsideNote));
  }
  text += fmt::format("  {} {:>12}\n", left(word(PlanTextId::kTotal), kNameColumns),
                      bytes_in(in.language, run.total_bytes()));
  const std::int64_t pinned = run.plan.arena_bytes_in(Space::kPinned);
  if (pinned == 0) return text;
  return text + fmt::format("  {} {:>12}  {}\n", left(word(PlanTextId::kPinned), kNameColumns),
                            bytes_in(in.language, pinned), word(PlanTextId::kPinnedNote));
}

std::string phase_rows(const PlanReportInput& in) {
  std::string text =
      fmt::format("  {}", left(text_in(in.language, PlanTextId::kPerPhase), kPhaseIndent - 2));
  std::vector<std::pair<std::string, std::int64_t>> phases;
  for (std::size_t p = 0; p < in.training.program.phases.size(); ++p) {
    const program::PhaseKind kind = in.training.program.phases[p].kind;
    if (kind == program::PhaseKind::kBeginIteration) continue;
    phases.emplace_back(phase_name(in.language, kind), in.training.plan.phase_bytes[p]);
  }
  phases.emplace_back(text_in(in.language, PlanTextId::kPhaseSample), in.sampling.plan.arena_bytes);
  std::size_t name_columns = 0;
  for (const auto& [name, bytes] : phases) name_columns = std::max(name_columns, columns_of(name));
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const bool begins_line = i > 0 && i % 3 == 0;
    if (i > 0) text += begins_line ? fmt::format("\n{}", std::string(kPhaseIndent, ' ')) : "   ";
    text += fmt::format("{} {:>10}", left(phases[i].first, name_columns),
                        bytes_in(in.language, phases[i].second));
  }
  return text + "\n";
}

// "transformer.h.7.mlp.fc" and its like in other layers are one row: "h.*.mlp.fc".
std::string without_layer(std::string name) {
  constexpr std::string_view kPrefix = "transformer.";
  if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
  const std::size_t at = name.find("h.");
  if (at == std::string::npos || (at > 0 && name[at - 1] != '.')) return name;
  const std::size_t end = name.find('.', at + 2);
  return name.substr(0, at + 2) + "*" + name.substr(end);
}

struct Kind {
  std::string name, shape;
  std::int64_t count, bytes;
};

std::string largest_rows(const PlanReportInput& in) {
  const plan::RunPlan& run = in.training;
  std::vector<Kind> kinds;
  for (const TensorId id : largest_tensors(run, run.program.tensors.size())) {
    const Tensor& tensor = run.program.tensor(id);
    const std::string name = without_layer(tensor.name);
    auto at =
        std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return k.name == name; });
    if (at == kinds.end()) at = kinds.insert(at, {name, to_string(tensor.shape), 0, 0});
    at->count += 1;
    at->bytes += tensor.byte_count();
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const Kind& a, const Kind& b) { return a.bytes > b.bytes; });
  std::string text = fmt::format("  {}\n", text_in(in.language, PlanTextId::kLargestAtPeak));
  for (std::size_t i = 0; i < std::min(kinds.size(), kLargestShown); ++i) {
    const Kind& k = kinds[i];
    text += fmt::format("    {:<35} {:>3} × {:<18} {:>11}\n", k.name, k.count, k.shape,
                        bytes_in(in.language, k.bytes));
  }
  return text;
}

std::string time_rows(const PlanReportInput& in) {
  const fit::TimeEstimate& t = in.time;
  const Language language = in.language;
  const auto range = [&](double seconds) {
    return text_in(
        language, PlanTextId::kRange,
        {duration_in(language, seconds * t.low), duration_in(language, seconds * t.high)});
  };
  std::string text = lines_of(
      text_in(language, in.card != nullptr ? PlanTextId::kTimeOfCard : PlanTextId::kTimeOfMachine));
  if (t.iteration_seconds > 0) {
    const auto tokens = [&](double factor) {
      return thousands_in(language, static_cast<std::int64_t>(t.tokens_per_second / factor));
    };
    text += fmt::format("    {}\n",
                        text_in(language, PlanTextId::kTimeIteration,
                                {range(t.iteration_seconds), tokens(t.high), tokens(t.low)}));
  }
  text += fmt::format(
      "    {}", text_in(language, PlanTextId::kTimeEvaluation, {range(t.evaluation_seconds)}));
  if (t.iteration_seconds > 0 && in.config.values.max_iters > 0) {
    text += text_in(language, PlanTextId::kComma) +
            text_in(language, PlanTextId::kTimeAll,
                    {thousands_in(language, in.config.values.max_iters), range(t.run_seconds)});
  }
  text += "\n";
  if (t.noise - 1 <= fit::kWorthChanging) return text;
  return text + lines_of(text_in(language, PlanTextId::kTimeIsNoise,
                                 {number_in(language, fmt::format("{:.1f}", t.noise))}));
}

// A command with the arguments as typed, except that the keys of `set_anew` are replaced by it.
std::vector<std::string> command_with(const char* command,
                                      const std::vector<std::string>& arguments,
                                      const std::vector<std::string>& set_anew) {
  std::vector<std::string> words = {"snug", command};
  for (const std::string& argument : arguments) {
    const std::string key = argument.substr(0, argument.find('=') + 1);
    const bool dropped = std::any_of(set_anew.begin(), set_anew.end(), [&](const std::string& w) {
      return !key.empty() && w.starts_with(key);
    });
    if (!dropped) words.push_back(shell_quoted(argument));
  }
  words.insert(words.end(), set_anew.begin(), set_anew.end());
  return words;
}

bool can_train(const PlanReportInput& in) {
  return in.card == nullptr || in.support == fit::CardSupport::kCompiled ||
         in.support == fit::CardSupport::kEmulated;
}

std::string next_commands(const PlanReportInput& in) {
  const fit::Fixes& fixes = in.fixes;
  const auto label = [&](PlanTextId id) {
    return fmt::format("  {}   ", text_in(in.language, id));
  };
  if (!in.fits() && !fixes.chosen) {
    return fmt::format("\n  {}\n  {}", text_in(in.language, PlanTextId::kNothingFits),
                       smallest_note(in.language, fixes));
  }
  if (!fixes.chosen) return "";
  const std::vector<std::string> changes = as_arguments(fixes.chosen->changes);
  if (!can_train(in)) {
    return fmt::format("\n{}", wrapped_command(label(PlanTextId::kSetIt), changes));
  }
  return fmt::format("\n{}{}", wrapped_command(label(PlanTextId::kRunIt), next_command(in)),
                     wrapped_command(label(PlanTextId::kLetSnugChoose),
                                     command_with("train", in.arguments, {"--fit"})));
}

// Where it fits: what the rest of the memory could be used for; else what makes it fit.
std::string fix_rows(const PlanReportInput& in) {
  constexpr std::size_t kShown = 14;
  const FixTableStyle style{in.language, kShown, in.card != nullptr, in.color};
  const std::string why = choice_note(in.fixes, in.budget, in.language, in.time.noise);
  if (in.fixes.fits_as_is) {
    if (!in.fixes.chosen && in.fixes.spare.empty()) return why.empty() ? "" : "\n" + why;
    return fmt::format("\n{}{}", spare_table(in.fixes, in.budget, style), why);
  }
  if (in.fixes.ranked.empty()) return "";
  return fmt::format("\n{}{}{}", fix_table(in.fixes, in.budget, style), why,
                     split_note(in.language, in.config.values));
}

}  // namespace

std::string plan_subject(Language language, const plan::RunPlan& run,
                         const config::Config& config) {
  const model::ModelSpec& m = run.model;
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  const std::string parameters = number_in(
      language, fmt::format("{:.2f}M", static_cast<double>(m.reported_parameter_count()) / 1e6));
  return text_in(language, m.n_layer == 1 ? PlanTextId::kSubjectOneLayer : PlanTextId::kSubject,
                 {parameters, number(m.n_layer), number(m.n_embd), number(config.batch_size),
                  number(config.block_size), std::string(name_of(compute_dtype(run)))});
}

std::vector<std::string> next_command(const PlanReportInput& in) {
  return command_with(can_train(in) ? "train" : "plan", in.arguments,
                      as_arguments(in.fixes.chosen->changes));
}

std::string peak_label(const plan::RunPlan& run, Language language) {
  const plan::PlanStep& step = peak_of(run);
  const program::Phase& phase = run.program.phases[static_cast<std::size_t>(step.phase)];
  return text_in(
      language, PlanTextId::kOpOfPhase,
      {phase.ops[static_cast<std::size_t>(step.op)].label, phase_name(language, phase.kind)});
}

std::vector<TensorId> largest_tensors(const plan::RunPlan& run, std::size_t count) {
  const auto peak = static_cast<std::int32_t>(run.plan.peak_step);
  std::vector<plan::Block> alive;
  for (const plan::Block& block : plan::live_blocks(run.program)) {
    if (block.tensor != kNoTensor && block.first <= peak && peak <= block.last) {
      alive.push_back(block);
    }
  }
  std::stable_sort(alive.begin(), alive.end(),
                   [](const plan::Block& a, const plan::Block& b) { return a.bytes > b.bytes; });
  alive.resize(std::min(alive.size(), count));
  std::vector<TensorId> ids;
  for (const plan::Block& block : alive) ids.push_back(block.tensor);
  return ids;
}

std::string plan_text(const PlanReportInput& in) {
  const std::string ratio =
      number_in(in.language, fmt::format("{:.3f}", in.training.plan.packing_ratio()));
  std::string text = fmt::format("\n{}\n{}\n{}", verdict(in), subject(in), role_rows(in));
  text +=
      fmt::format("  {}\n  {}\n",
                  text_in(in.language, PlanTextId::kPeakAt, {peak_label(in.training, in.language)}),
                  text_in(in.language, PlanTextId::kPacking, {ratio}));
  text += fmt::format("\n{}\n{}\n{}", phase_rows(in), largest_rows(in), time_rows(in));
  return text + fix_rows(in) + next_commands(in);
}

}  // namespace snug::report
