#include "fit/budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"

namespace snug::fit {
namespace {

// "10%" of `whole`, or an amount of its own.
std::int64_t share_or_bytes(const std::string& text, std::int64_t whole, const char* key) {
  if (const auto percent = parse_percent(text)) {
    return static_cast<std::int64_t>(static_cast<double>(whole) * *percent / 100);
  }
  if (const auto bytes = parse_bytes(text)) return *bytes;
  throw ConfigError(
      fmt::format("{} = '{}' is not an amount of memory\nwrite 512MiB or 10%", key, text));
}

void leave_headroom(Budget& budget, const std::string& headroom) {
  if (headroom == "auto") return;
  budget.headroom_bytes = share_or_bytes(headroom, budget.usable_bytes, "headroom");
  if (budget.headroom_bytes > budget.usable_bytes) {
    throw ConfigError(
        fmt::format("headroom = {} is more than the {} that may be used\n"
                    "write a share such as 10%",
                    headroom, format_bytes(budget.usable_bytes)));
  }
  budget.usable_bytes -= budget.headroom_bytes;
}

}  // namespace

Budget card_budget(const Card& card, const std::string& memory_budget,
                   const std::string& headroom) {
  Budget budget;
  budget.memory_bytes = card.reported_mib * kMiB;
  budget.context = cuda_context(card);
  budget.display_bytes = memory_budget == "auto" ? display_bytes(card) : 0;
  const std::int64_t available = std::max<std::int64_t>(
      0, budget.memory_bytes - budget.display_bytes - budget.context.high_bytes);
  const std::int64_t wanted =
      memory_budget == "auto" ? available
                              : share_or_bytes(memory_budget, budget.memory_bytes, "memory_budget");
  if (wanted >= available) {
    budget.source = BudgetSource::kCard;
    budget.card_name = card.name;
  }
  budget.usable_bytes = std::min(wanted, available);
  if (wanted < available) budget.context = {};  // what is left beside it holds the context
  leave_headroom(budget, headroom);
  if (headroom == "auto" && memory_budget == "auto") {
    budget.headroom_is_default = true;
    budget.headroom_bytes =
        static_cast<std::int64_t>(static_cast<double>(budget.usable_bytes) * kDefaultCardHeadroom);
    budget.usable_bytes -= budget.headroom_bytes;
  }
  return budget;
}

Budget plain_budget(std::int64_t bytes, BudgetSource source, const std::string& headroom) {
  Budget budget;
  budget.usable_bytes = bytes;
  budget.source = source;
  leave_headroom(budget, headroom);
  return budget;
}

Verdict verdict_of(std::int64_t total_bytes, const Budget& budget) {
  const std::int64_t limit = budget.limit_bytes();
  if (total_bytes > limit) return Verdict::kDoesNotFit;
  // In whole bytes, as the headroom of card_budget is.
  const bool is_tight =
      limit - total_bytes < static_cast<std::int64_t>(kTightShare * static_cast<double>(limit));
  return is_tight || total_bytes > budget.usable_bytes ? Verdict::kBarelyFits : Verdict::kFits;
}

}  // namespace snug::fit
