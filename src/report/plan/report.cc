#include "report/plan/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "plan/liveness.h"
#include "report/plan/budget_text.h"
#include "report/plan/fix_table.h"
#include "report/shell_command.h"
#include "report/text.h"

namespace snug {
namespace {

constexpr int kBarCells = 30;
constexpr std::size_t kLargestShown = 6;

const PlanStep& peak_of(const RunPlan& run) { return run.plan.steps[run.plan.peak_step]; }

std::string verdict(const PlanReportInput& in) {
  std::string need = format_bytes(in.training.total_bytes());
  std::string have = format_bytes(in.budget.usable_bytes);
  if (need == have && !in.fits()) {
    need = fmt::format("{} B", with_thousands(in.training.total_bytes()));
    have = fmt::format("{} B", with_thousands(in.budget.usable_bytes));
  }
  const char* words = "Fits.";
  const char* paint_code = "1;32";
  const Verdict verdict = verdict_of(in.training.total_bytes(), in.budget);
  if (verdict == Verdict::kBarelyFits) words = "Fits, with less than 5% to spare.";
  if (verdict == Verdict::kBarelyFits) paint_code = "1;33";
  if (verdict == Verdict::kDoesNotFit) words = "Does not fit.";
  if (verdict == Verdict::kDoesNotFit) paint_code = "1;31";
  const bool is_asked_for = in.budget.source == BudgetSource::kMemoryBudget;
  const std::string budget =
      in.card != nullptr && !is_asked_for
          ? fmt::format("the {} has {} to give", in.card->name, have)
          : fmt::format("{} is {}{}", have, is_asked_for ? "the " : "", budget_origin(in.budget));
  return fmt::format("  {}  Needs {}, {}\n{}", painted(in.color, paint_code, words), need, budget,
                     budget_parts(in.budget));
}

DType compute_dtype(const RunPlan& run) {
  return run.program.tensor(run.program.compute_weights.front()).dtype;
}

std::string subject(const PlanReportInput& in) {
  const Config& c = in.config.values;
  const ModelSpec& m = in.training.model;
  return fmt::format(
      "  {:.2f}M parameters · {} {} × {} · {} × {} tokens · {}\n"
      "  effective batch {} ({} × {})\n  vocabulary {} ({})\n",
      static_cast<double>(m.reported_parameter_count()) / 1e6, m.n_layer,
      m.n_layer == 1 ? "layer" : "layers", m.n_embd, c.batch_size, c.block_size,
      name_of(compute_dtype(in.training)), effective_batch_of(c), c.batch_size,
      c.gradient_accumulation_steps, m.vocab_size, in.vocabulary_origin);
}

std::string loss_note(const RunPlan& run) {
  const bool training = !run.program.gradients.empty();
  const Phase& step = run.program.phase(training ? PhaseKind::kMicroStep : PhaseKind::kEvaluate);
  const std::int64_t rows = step.batch_size * step.block_size;
  if (step.loops.empty() || step.loops[0].chunk_rows >= rows) return "";
  return fmt::format("  {} of {} rows; whole {}", with_thousands(step.loops[0].chunk_rows),
                     with_thousands(rows),
                     format_bytes(rows * run.model.vocab_size * size_of(compute_dtype(run))));
}

std::string role_rows(const PlanReportInput& in) {
  const RunPlan& run = in.training;
  const RoleBytes& roles = peak_of(run).by_role;
  const std::int64_t gaps = run.plan.arena_bytes - run.plan.lower_bound_bytes;
  const std::int64_t largest =
      std::max(*std::max_element(roles.begin(), roles.end()), run.overhead_bytes);
  std::string text;
  const auto row = [&](std::string_view name, std::int64_t bytes, const std::string& note) {
    std::string line = fmt::format("  {:<18} {:>12}  {}{}", name, format_bytes(bytes),
                                   bar(bytes, largest, kBarCells), note);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  for (int role = 0; role < kRoleCount; ++role) {
    const auto r = static_cast<Role>(role);
    row(name_of(r), roles[static_cast<std::size_t>(role)],
        r == Role::kLossHead && roles[static_cast<std::size_t>(role)] > 0 ? loss_note(run) : "");
  }
  if (gaps > 0) row("gaps of packing", gaps, "");
  if (run.overhead_bytes > 0) row("outside the arena", run.overhead_bytes, "  program, threads");
  text += fmt::format("  {:<18} {:>12}\n", "total", format_bytes(run.total_bytes()));
  return text;
}

std::string phase_rows(const PlanReportInput& in) {
  std::string text = "  per phase   ";
  auto add = [&, column = 0](std::string_view name, std::int64_t bytes) mutable {
    if (column > 0) text += column % 3 == 0 ? "\n              " : "   ";
    text += fmt::format("{:<8} {:>10}", name, format_bytes(bytes));
    ++column;
  };
  for (std::size_t p = 0; p < in.training.program.phases.size(); ++p) {
    const PhaseKind kind = in.training.program.phases[p].kind;
    if (kind != PhaseKind::kBeginIteration) add(name_of(kind), in.training.plan.phase_bytes[p]);
  }
  add("sample", in.sampling.plan.arena_bytes);
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

std::string largest_rows(const RunPlan& run) {
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
  std::string text = "  largest at the peak\n";
  for (std::size_t i = 0; i < std::min(kinds.size(), kLargestShown); ++i) {
    const Kind& k = kinds[i];
    text += fmt::format("    {:<35} {:>3} × {:<18} {:>11}\n", k.name, k.count, k.shape,
                        format_bytes(k.bytes));
  }
  return text;
}

std::string duration(double seconds) {
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 120) return fmt::format("{:.1f} s", seconds);
  if (seconds < 2 * 3600) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{:.1f} h", seconds / 3600);
  if (seconds < 730 * 86400.0) return fmt::format("{:.1f} days", seconds / 86400);
  return fmt::format("{:.0f} years", seconds / (365.25 * 86400));
}

std::string time_rows(const PlanReportInput& in) {
  const TimeEstimate& t = in.time;
  const auto range = [&](double seconds) {
    return fmt::format("{} to {}", duration(seconds * t.low), duration(seconds * t.high));
  };
  const char* origin = in.card != nullptr ? "predicted from the card's figures, not measured"
                                          : "predicted from rates measured on this machine now";
  std::string text = fmt::format("  time, {}\n", origin);
  if (t.iteration_seconds > 0) {
    const auto tokens = [&](double factor) {
      return with_thousands(static_cast<std::int64_t>(t.tokens_per_second / factor));
    };
    text += fmt::format("    iteration {}, {} to {} tokens/s\n", range(t.iteration_seconds),
                        tokens(t.high), tokens(t.low));
  }
  text += fmt::format("    evaluation {}", range(t.evaluation_seconds));
  if (t.iteration_seconds > 0 && in.config.values.max_iters > 0) {
    text += fmt::format(", all {} iterations {}", with_thousands(in.config.values.max_iters),
                        range(t.run_seconds));
  }
  return text + "\n";
}

// `snug train` with the same command line, except that the keys of `set_anew` are replaced by it.
std::vector<std::string> train_command(const std::vector<std::string>& arguments,
                                       const std::vector<std::string>& set_anew) {
  std::vector<std::string> words = {"snug", "train"};
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

std::string next_commands(const PlanReportInput& in) {
  const Fixes& fixes = in.fixes;
  if (!in.fits() && !fixes.chosen) {
    return fmt::format("\n  Nothing that keeps the effective batch fits:\n  {}",
                       smallest_note(fixes));
  }
  if (!fixes.chosen) return "";
  const std::vector<std::string> changes = as_arguments(fixes.chosen->changes);
  if (in.card != nullptr) {
    return fmt::format(
        "\n{}  A card can be planned for here, not yet trained on: this build has no CUDA\n"
        "  backend\n",
        wrapped_command("  Set it (▸):   ", changes));
  }
  return fmt::format(
      "\n{}{}", wrapped_command("  Run it (▸):   ", train_command(in.arguments, changes)),
      wrapped_command("  or let Snug choose:   ", train_command(in.arguments, {"--fit"})));
}

std::string fix_rows(const PlanReportInput& in) {
  constexpr std::size_t kShown = 14, kShownWhenFitting = 6;
  if (in.fixes.ranked.empty()) return "";
  return "\n" +
         fix_table(in.fixes, in.fits() ? kShownWhenFitting : kShown, in.card != nullptr, in.color) +
         split_note(in.config.values);
}

}  // namespace

std::string peak_label(const RunPlan& run) {
  const PlanStep& step = peak_of(run);
  const Phase& phase = run.program.phases[static_cast<std::size_t>(step.phase)];
  return fmt::format("{} ({})", phase.ops[static_cast<std::size_t>(step.op)].label,
                     name_of(phase.kind));
}

std::vector<TensorId> largest_tensors(const RunPlan& run, std::size_t count) {
  const auto peak = static_cast<std::int32_t>(run.plan.peak_step);
  std::vector<Block> alive;
  for (const Block& block : live_blocks(run.program)) {
    if (block.tensor != kNoTensor && block.first <= peak && peak <= block.last) {
      alive.push_back(block);
    }
  }
  std::stable_sort(alive.begin(), alive.end(),
                   [](const Block& a, const Block& b) { return a.bytes > b.bytes; });
  alive.resize(std::min(alive.size(), count));
  std::vector<TensorId> ids;
  for (const Block& block : alive) ids.push_back(block.tensor);
  return ids;
}

std::string plan_text(const PlanReportInput& in) {
  std::string text = fmt::format("\n{}\n{}\n{}", verdict(in), subject(in), role_rows(in));
  text += fmt::format("  peak at {}\n  packing {:.3f} × the lower bound\n", peak_label(in.training),
                      in.training.plan.packing_ratio());
  text += fmt::format("\n{}\n{}\n{}", phase_rows(in), largest_rows(in.training), time_rows(in));
  return text + fix_rows(in) + next_commands(in);
}

}  // namespace snug
