// Budget: how much memory a run may take, and what the rest of the card or machine is for.
#pragma once

#include <cstdint>
#include <string>

#include "fit/cards.h"

namespace snug {

struct Budget {
  std::int64_t usable_bytes = 0;   // what a run's total may be
  std::int64_t memory_bytes = 0;   // of the card or machine, as it reports it; 0: not known
  std::int64_t display_bytes = 0;  // card: held by a display or the system
  ContextRange context{0, 0};      // card: CUDA's own; its upper end is left free
  std::int64_t headroom_bytes = 0;
  std::string origin;  // "memory_budget", "GeForce RTX 3060", "available now (...)"
};

// Of a card: its memory less display and context, or what `memory_budget` says (a share is one of
// the card's memory); then less the headroom.
Budget card_budget(const Card& card, const std::string& memory_budget, const std::string& headroom);

// `bytes` that were found or asked for, less the headroom.
Budget plain_budget(std::int64_t bytes, std::string origin, const std::string& headroom);

enum class Verdict {
  kFits,
  kBarelyFits,  // less than kTightShare of the budget to spare
  kDoesNotFit,
};
constexpr double kTightShare = 0.05;
Verdict verdict_of(std::int64_t total_bytes, const Budget& budget);

}  // namespace snug
