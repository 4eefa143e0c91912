// The table of ranked fixes, eighty columns wide.
#pragma once

#include <string>
#include <vector>

#include "fit/fixes.h"

namespace snug {

// Fixes that help, at most `most` rows, or as many as the chosen one needs; a last line says how
// many were left out. `on_card`: what keeps the result is called the same training, as no card has
// confirmed the bits.
std::string fix_table(const Fixes& fixes, std::size_t most, bool on_card, bool color);

// "same bits", "rounds otherwise", ...
std::string effect_text(Effect effect, bool on_card);

// "--batch_size=8", "--gradient_accumulation_steps=64"
std::vector<std::string> as_arguments(const std::vector<Change>& changes);

// Why there are no more splits between the batch and 1; empty when there are some.
std::string split_note(const Config& config);

// When nothing fits that keeps the effective batch: the smallest need and its largest part.
std::string smallest_note(const Fixes& fixes);

}  // namespace snug
