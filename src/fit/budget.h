// Budget: how much memory a run may take, and what the rest of the card or machine is for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fit/cards.h"

namespace snug::fit {

enum class BudgetSource : std::uint8_t {
  kMemoryBudget,           // the key memory_budget
  kCard,                   // the card, all that it can give
  kAvailable,              // this machine's memory, what is available now
  kAvailableBelowRequest,  // the same, because memory_budget asks for more than that
};

struct Budget {
  std::int64_t usable_bytes = 0;   // what a run's total may be
  std::int64_t memory_bytes = 0;   // of the card or machine, as it reports it; 0: not known
  std::int64_t display_bytes = 0;  // card: held by a display or the system
  ContextRange context{0, 0};      // card: CUDA's own; its upper end is left free
  std::int64_t headroom_bytes = 0;
  bool headroom_is_default = false;  // nobody asked for it: what needs some of it fits, barely
  BudgetSource source = BudgetSource::kMemoryBudget;
  std::string_view card_name;  // kCard; of a Card, which lives as long as the program
  std::string limited_by;      // kAvailable: see HostMemory::limited_by

  // What the device has to give at all.
  std::int64_t limit_bytes() const {
    return usable_bytes + (headroom_is_default ? headroom_bytes : 0);
  }
};

// Of what a card can give, where neither headroom nor memory_budget is set: drivers, displays and
// libraries differ by that much between two machines with the same card.
constexpr double kDefaultCardHeadroom = 0.05;

// A card's budget: its memory less display and context, or what `memory_budget` says (a share is
// one of the card's memory); then less the headroom, which for "auto" is kDefaultCardHeadroom of
// what the card can give and nothing of a memory_budget.
Budget card_budget(const Card& card, const std::string& memory_budget, const std::string& headroom);

// `bytes` that were found or asked for, less the headroom; "auto" is none.
Budget plain_budget(std::int64_t bytes, BudgetSource source, const std::string& headroom);

enum class Verdict {
  kFits,
  kBarelyFits,  // less than kTightShare of limit_bytes() to spare
  kDoesNotFit,
};
constexpr double kTightShare = 0.05;
Verdict verdict_of(std::int64_t total_bytes, const Budget& budget);

}  // namespace snug::fit
