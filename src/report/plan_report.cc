#include "report/plan_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "plan/liveness.h"

namespace snug {
namespace {

constexpr int kBarCells = 30;
constexpr std::size_t kLargestShown = 6;

const PlanStep& peak_of(const RunPlan& run) { return run.plan.steps[run.plan.peak_step]; }

std::string peak_label(const RunPlan& run) {
  const PlanStep& step = peak_of(run);
  const Phase& phase = run.program.phases[static_cast<std::size_t>(step.phase)];
  return fmt::format("{} ({})", phase.ops[static_cast<std::size_t>(step.op)].label,
                     name_of(phase.kind));
}

// "██▌", eighths of a cell.
std::string bar(std::int64_t bytes, std::int64_t most) {
  constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (most <= 0 || bytes <= 0) return "";
  const auto eighths = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(static_cast<double>(bytes) / static_cast<double>(most) * 8 *
                                   kBarCells));
  std::string text;
  for (std::int64_t i = 0; i < eighths / 8; ++i) text += "█";
  return text + kEighths[eighths % 8];
}

std::string paint(const PlanReportInput& in, const char* code, const std::string& text) {
  return in.color ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
}

std::string verdict(const PlanReportInput& in) {
  const std::string need = format_bytes(in.training.total_bytes());
  const std::string have = format_bytes(in.budget_bytes);
  if (!in.fits()) {
    return fmt::format("  {}  Needs {}, {} is {}\n", paint(in, "1;31", "Does not fit."), need, have,
                       in.budget_origin);
  }
  return fmt::format("  {}  Needs {}, {} is {}\n", paint(in, "1;32", "Fits."), need, have,
                     in.budget_origin);
}

std::string subject(const PlanReportInput& in) {
  const Config& c = in.config;
  const ModelSpec& m = in.training.model;
  return fmt::format(
      "  {:.2f}M parameters · {} layers × {} · {} × {} tokens · float32\n"
      "  effective batch {} ({} × {})\n  vocabulary {} ({})\n",
      static_cast<double>(m.reported_parameter_count()) / 1e6, m.n_layer, m.n_embd, c.batch_size,
      c.block_size, c.batch_size * c.gradient_accumulation_steps, c.batch_size,
      c.gradient_accumulation_steps, m.vocab_size, in.vocabulary_origin);
}

std::string loss_note(const RunPlan& run) {
  const bool training = !run.program.gradients.empty();
  const Phase& step = run.program.phase(training ? PhaseKind::kMicroStep : PhaseKind::kEvaluate);
  const std::int64_t rows = step.batch_size * step.block_size;
  const auto head = std::find_if(step.ops.begin(), step.ops.end(),
                                 [](const Op& op) { return op.chunk_rows > 0; });
  if (head == step.ops.end() || head->chunk_rows >= rows) return "";
  return fmt::format("  {} of {} rows at once; whole: {}", with_thousands(head->chunk_rows),
                     with_thousands(rows),
                     format_bytes(rows * run.model.vocab_size * size_of(DType::kF32)));
}

std::string role_rows(const PlanReportInput& in) {
  const RunPlan& run = in.training;
  const RoleBytes& roles = peak_of(run).by_role;
  const std::int64_t gaps = run.plan.arena_bytes - run.plan.lower_bound_bytes;
  const std::int64_t most =
      std::max(*std::max_element(roles.begin(), roles.end()), run.overhead_bytes);
  std::string text;
  const auto row = [&](std::string_view name, std::int64_t bytes, const std::string& note) {
    std::string line =
        fmt::format("  {:<18} {:>12}  {}{}", name, format_bytes(bytes), bar(bytes, most), note);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  for (int role = 0; role < kRoleCount; ++role) {
    const auto r = static_cast<Role>(role);
    row(name_of(r), roles[static_cast<std::size_t>(role)],
        r == Role::kLossHead && roles[static_cast<std::size_t>(role)] > 0 ? loss_note(run) : "");
  }
  if (gaps > 0) row("gaps of packing", gaps, "");
  row("outside the arena", run.overhead_bytes, "  program, threads");
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

// "h.7.mlp.fc" and its like in other layers are one row: "h.*.mlp.fc".
std::string without_layer(const std::string& name) {
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

}  // namespace

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
  std::string text = "\n" + verdict(in) + "\n" + subject(in) + "\n" + role_rows(in);
  text += fmt::format("  peak at {}\n  packing {:.3f} × the lower bound\n", peak_label(in.training),
                      in.training.plan.packing_ratio());
  return text + "\n" + phase_rows(in) + "\n" + largest_rows(in.training);
}

CapacityError does_not_fit(const RunPlan& run, std::int64_t budget_bytes) {
  const bool training = !run.program.gradients.empty();
  const std::string need =
      fmt::format("does not fit: needs {} ({} bytes), {} may be used",
                  format_bytes(run.total_bytes()), run.total_bytes(), format_bytes(budget_bytes));
  if (run.overhead_bytes > budget_bytes) {
    return CapacityError(
        fmt::format("{}\nthe program itself takes up to {} of it: no setting helps", need,
                    format_bytes(run.overhead_bytes)));
  }
  const RoleBytes& roles = peak_of(run).by_role;
  const auto largest = std::max_element(roles.begin(), roles.end());
  const std::string advice =
      training ? "`snug plan` shows every part; a smaller batch_size with "
                 "gradient_accumulation_steps raised to match, or grad_checkpoint=True, needs less "
                 "and trains the same weights"
               : "free memory, or raise --memory_budget: the model itself needs it";
  return CapacityError(fmt::format("{}\nthe largest part is {} with {}, at {}\n{}", need,
                                   name_of(static_cast<Role>(largest - roles.begin())),
                                   format_bytes(*largest), peak_label(run), advice));
}

}  // namespace snug
