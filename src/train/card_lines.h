// What a person is told of the card that a run starts on, and of who else is on it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/card_facts.h"

namespace snug::train {

// The card and what is free of it; who holds the rest; what to know of its driver. Nothing without
// a card.
std::vector<std::string> card_lines(const std::optional<device::CardFacts>& card);

// "others are on the card: firefox (pid 42) 512.00 MiB, ..."; "": nobody that the driver tells of.
std::string holders_line(const device::CardFacts& card);

}  // namespace snug::train
