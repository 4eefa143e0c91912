#include "report/plan/refusal.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "report/plan/fix_table.h"
#include "report/plan/report.h"
#include "report/shell_command.h"

namespace snug {

CapacityError does_not_fit(const RunPlan& run, const Budget& budget) {
  const std::string need = fmt::format("does not fit: needs {} ({} bytes), {} may be used",
                                       format_bytes(run.total_bytes()), run.total_bytes(),
                                       format_bytes(budget.usable_bytes));
  if (run.overhead_bytes > budget.usable_bytes) {
    return CapacityError(fmt::format("{}\nthe program itself takes up to {} of it", need,
                                     format_bytes(run.overhead_bytes)));
  }
  const RoleBytes& roles = run.plan.steps[run.plan.peak_step].by_role;
  const auto largest = std::max_element(roles.begin(), roles.end());
  return CapacityError(fmt::format("{}\nthe largest part is {} with {}, at {}", need,
                                   name_of(static_cast<Role>(largest - roles.begin())),
                                   format_bytes(*largest), peak_label(run)));
}

CapacityError does_not_fit(const RunPlan& run, const Budget& budget, const Fixes& fixes) {
  constexpr std::size_t kShown = 10;
  std::string text = does_not_fit(run, budget).what();
  if (!fixes.ranked.empty()) {
    text += fmt::format("\n\n{}", fix_table(fixes, kShown, false, false));
  }
  text +=
      fixes.chosen
          ? wrapped_command("\n--fit applies ▸; by hand: ", as_arguments(fixes.chosen->changes))
          : fmt::format("\nnothing that keeps the effective batch fits:\n{}", smallest_note(fixes));
  return CapacityError(text + "`snug plan` shows every part");
}

}  // namespace snug
