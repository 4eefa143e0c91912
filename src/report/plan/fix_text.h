// Fixes of Snug in words: what each is called, what it does to the training, what --fit has done.
#pragma once

#include <string>
#include <vector>

#include "fit/outcome.h"
#include "report/catalogue/messages.h"

namespace snug::report {

// "batch 8, accumulate 64, checkpoint 9 of 12 blocks". `before`: the config as it is.
std::string fix_name(Language language, const config::Config& before, const fit::Fix& fix);

// "same bits", "rounds otherwise", ... `on_card`: what keeps the bits is called the same, as no
// card has confirmed them.
std::string effect_text(Language language, fit::Effect effect, bool on_card);

// "optimizer state alone takes 948.91 MiB of it"
std::string largest_part_text(Language language, const fit::LargestPart& part);

// What --fit changed and why, one line each; one line when nothing was changed. `on_card`: the bits
// are not promised.
std::vector<std::string> fit_lines(const fit::FitOutcome& outcome, bool on_card,
                                   Language language = Language::kEnglish);

// The last of these lines: "fit: batch_size 64 -> 8, gradient_accumulation_steps 8 -> 64".
std::string fit_changes_line(const fit::FitOutcome& outcome,
                             Language language = Language::kEnglish);

}  // namespace snug::report
