// A budget in words: where it comes from, and what of the memory is for others.
#pragma once

#include <string>

#include "fit/budget.h"
#include "fit/card_support.h"
#include "report/catalogue/messages.h"

namespace snug::report {

// "memory_budget", "GeForce RTX 3060", "available now (limited by the machine)": as in JSON.
std::string budget_origin(const fit::Budget& budget);

// "Needs 4.48 GiB, the GeForce RTX 3060 has 10.81 GiB to give".
std::string need_against_budget(Language language, const std::string& need,
                                const fit::Budget& budget);

// "11.63 GiB less 0.50 for a display, ..." and the headroom, a line each; or nothing.
std::string budget_parts(Language language, const fit::Budget& budget);

// Whether this build trains on the card, in one sentence.
std::string support_text(Language language, fit::CardSupport support, const fit::Card& card);

}  // namespace snug::report
