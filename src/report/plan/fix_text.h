// Fixes of Snug in words: what each is called, what it does to the training, what --fit has done.
#pragma once

#include <string>
#include <vector>

#include "fit/outcome.h"

namespace snug {

// "batch 8, accumulate 64, checkpoint 9 of 12 blocks". `before`: the config as it is.
std::string fix_name(const Config& before, const Fix& fix);

// "same bits", "rounds otherwise", ... `on_card`: what keeps the result is called the same
// training, as no card has confirmed the bits.
std::string effect_text(Effect effect, bool on_card);

// "optimizer state alone takes 948.91 MiB of it"
std::string largest_part_text(const LargestPart& part);

// What --fit changed and why, one line each; one line when nothing was changed. `on_card`: the bits
// are not promised.
std::vector<std::string> fit_lines(const FitOutcome& outcome, bool on_card);

// The last of these lines: "fit: batch_size 64 -> 8, gradient_accumulation_steps 8 -> 64".
std::string fit_changes_line(const FitOutcome& outcome);

}  // namespace snug
