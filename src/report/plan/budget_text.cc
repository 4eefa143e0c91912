#include "report/plan/budget_text.h"

#include <fmt/format.h>

#include <vector>

#include "base/bytes.h"

namespace snug {

std::string budget_origin(const Budget& budget) {
  switch (budget.source) {
    case BudgetSource::kMemoryBudget:
      return "memory_budget";
    case BudgetSource::kCard:
      return std::string(budget.card_name);
    case BudgetSource::kAvailable:
      return fmt::format("available now (limited by the {})", budget.limited_by);
    case BudgetSource::kAvailableBelowRequest:
      return "available now, less than the memory_budget";
  }
  return "";
}

std::string budget_parts(const Budget& budget) {
  const auto gib = [](std::int64_t bytes) {
    return fmt::format("{:.2f}", static_cast<double>(bytes) / static_cast<double>(kGiB));
  };
  std::vector<std::string> parts;
  if (budget.display_bytes > 0) parts.push_back(gib(budget.display_bytes) + " for a display");
  if (budget.context.high_bytes > 0) {
    parts.push_back(fmt::format("{} for CUDA's context ({} to {})", gib(budget.context.high_bytes),
                                gib(budget.context.low_bytes), gib(budget.context.high_bytes)));
  }
  const std::string headroom =
      budget.headroom_bytes > 0
          ? fmt::format("  {} GiB of it stay free as headroom\n", gib(budget.headroom_bytes))
          : "";
  if (parts.empty()) return headroom;
  const std::int64_t whole = budget.usable_bytes + budget.headroom_bytes + budget.display_bytes +
                             budget.context.high_bytes;
  return fmt::format("  {} GiB less {}\n{}", gib(whole), fmt::join(parts, ", "), headroom);
}

}  // namespace snug
