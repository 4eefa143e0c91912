#include "report/plan/refusal.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/numbers.h"
#include "report/plan/fix_table.h"
#include "report/plan/report.h"
#include "report/plan/words.h"
#include "report/shell_command.h"

namespace snug::report {

CapacityError does_not_fit(const plan::RunPlan& run, const fit::Budget& budget, Language language) {
  const std::string need =
      text_in(language, PlanTextId::kRefusalNeed,
              {bytes_in(language, run.total_bytes()), std::to_string(run.total_bytes()),
               bytes_in(language, budget.usable_bytes)});
  if (run.overhead_bytes > budget.usable_bytes) {
    return CapacityError(fmt::format("{}\n{}", need,
                                     text_in(language, PlanTextId::kLargestPartProgram,
                                             {bytes_in(language, run.overhead_bytes)})));
  }
  const plan::RoleBytes& roles = run.plan.steps[run.plan.peak_step].by_role;
  const auto largest = std::max_element(roles.begin(), roles.end());
  return CapacityError(
      fmt::format("{}\n{}", need,
                  text_in(language, PlanTextId::kRefusalLargest,
                          {role_name(language, static_cast<Role>(largest - roles.begin())),
                           bytes_in(language, *largest), peak_label(run, language)})));
}

CapacityError does_not_fit(const plan::RunPlan& run, const fit::Budget& budget,
                           const fit::Fixes& fixes, Language language, const std::string& note) {
  std::string text = does_not_fit(run, budget, language).what();
  if (!note.empty()) text += "\n" + note;
  if (!fixes.ranked.empty()) {
    text += fmt::format(
        "\n\n{}", fix_table(fixes, budget,
                            {.language = language, .on_card = run.plan.space == Space::kDevice}));
  }
  const auto word = [&](PlanTextId id) { return text_in(language, id); };
  text += fixes.chosen ? wrapped_command(fmt::format("\n{} ", word(PlanTextId::kRefusalFit)),
                                         as_arguments(fixes.chosen->changes))
                       : fmt::format("\n{}\n{}", word(PlanTextId::kNothingFits),
                                     smallest_note(language, fixes));
  return CapacityError(text + word(PlanTextId::kRefusalSeePlan));
}

}  // namespace snug::report
