// The table of ranked fixes, eighty columns wide.
#pragma once

#include <string>
#include <vector>

#include "fit/fixes.h"

namespace snug {

// Fixes that help, at most `row_limit` rows, or as many as the chosen one needs; a last line says
// how many were left out. `on_card`: see effect_text().
std::string fix_table(const Fixes& fixes, std::size_t row_limit, bool on_card, bool color);

// "--batch_size=8", "--gradient_accumulation_steps=64"
std::vector<std::string> as_arguments(const std::vector<Change>& changes);

// Why there are no more splits between the batch and 1; empty when there are some.
std::string split_note(const Config& config);

// When nothing fits that keeps the effective batch: the smallest need and its largest part.
std::string smallest_note(const Fixes& fixes);

}  // namespace snug
