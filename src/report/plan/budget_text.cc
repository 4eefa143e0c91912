#include "report/plan/budget_text.h"

#include <fmt/format.h>

#include <vector>

#include "base/bytes.h"
#include "report/catalogue/error_texts.h"
#include "report/catalogue/plan_texts.h"
#include "report/columns.h"
#include "report/numbers.h"

namespace snug::report {

std::string budget_origin(const fit::Budget& budget) {
  switch (budget.source) {
    case fit::BudgetSource::kMemoryBudget:
      return "memory_budget";
    case fit::BudgetSource::kCard:
      return std::string(budget.card_name);
    case fit::BudgetSource::kAvailable:
      return fmt::format("available now (limited by the {})", budget.limited_by);
    case fit::BudgetSource::kAvailableBelowRequest:
      return "available now, less than the memory_budget";
  }
  return "";
}

std::string need_against_budget(Language language, const std::string& need,
                                const fit::Budget& budget) {
  const std::string have = need.ends_with(" B")
                               ? fmt::format("{} B", thousands_in(language, budget.limit_bytes()))
                               : bytes_in(language, budget.limit_bytes());
  switch (budget.source) {
    case fit::BudgetSource::kMemoryBudget:
      return text_in(language, PlanTextId::kNeedsOfBudget, {need, have});
    case fit::BudgetSource::kCard:
      return text_in(language, PlanTextId::kNeedsOfCard,
                     {need, translated(language, std::string(budget.card_name)), have});
    case fit::BudgetSource::kAvailable:
      return text_in(language, PlanTextId::kNeedsOfAvailable,
                     {need, have, translated(language, budget.limited_by)});
    case fit::BudgetSource::kAvailableBelowRequest:
      return text_in(language, PlanTextId::kNeedsOfAvailableBelow, {need, have});
  }
  return need;
}

std::string budget_parts(Language language, const fit::Budget& budget) {
  const auto gib = [&](std::int64_t bytes) { return gib_in(language, bytes); };
  std::vector<std::string> parts;
  if (budget.display_bytes > 0) {
    parts.push_back(text_in(language, PlanTextId::kPartDisplay, {gib(budget.display_bytes)}));
  }
  if (budget.context.high_bytes > 0) {
    parts.push_back(text_in(language, PlanTextId::kPartContext,
                            {gib(budget.context.high_bytes), gib(budget.context.low_bytes),
                             gib(budget.context.high_bytes)}));
  }
  std::string text;
  const auto add = [&](const std::string& sentence) {
    for (const std::string& line : wrapped(sentence, 78)) text += fmt::format("  {}\n", line);
  };
  const std::int64_t whole = budget.usable_bytes + budget.headroom_bytes + budget.display_bytes +
                             budget.context.high_bytes;
  if (!parts.empty()) {
    add(text_in(language, PlanTextId::kBudgetParts, {gib(whole), listed(language, parts)}));
  }
  if (budget.headroom_bytes > 0) {
    add(text_in(
        language,
        budget.headroom_is_default ? PlanTextId::kHeadroomDefault : PlanTextId::kHeadroomAsked,
        {gib(budget.headroom_bytes)}));
  }
  return text;
}

std::string support_text(Language language, fit::CardSupport support, const fit::Card& card) {
  const std::string capability = std::to_string(card.compute_capability);
  switch (support) {
    case fit::CardSupport::kNoBackend:
      return text_in(language, PlanTextId::kSupportNoBackend);
    case fit::CardSupport::kTooOld:
      return text_in(language, PlanTextId::kSupportTooOld, {capability});
    case fit::CardSupport::kCompiled:
      return text_in(language, PlanTextId::kSupportCompiled, {capability});
    case fit::CardSupport::kEmulated:
      return text_in(language, PlanTextId::kSupportEmulated);
  }
  return "";
}

}  // namespace snug::report
