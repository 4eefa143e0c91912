// The tables of ranked fixes and of what spare memory buys, eighty columns wide.
#pragma once

#include <string>
#include <vector>

#include "fit/budget.h"
#include "fit/fixes.h"
#include "report/catalogue/messages.h"

namespace snug::report {

struct FixTableStyle {
  Language language = Language::kEnglish;
  std::size_t row_limit = 10;
  bool on_card = false;  // see effect_text()
  bool color = false;
};

// Fixes that help, at most `row_limit` rows, or as many as the chosen one needs; a last line says
// how many were left out. Marks: ✔ fits, ~ barely, ✘ does not.
std::string fix_table(const fit::Fixes& fixes, const fit::Budget& budget,
                      const FixTableStyle& style);

// What a run that fits could use the rest for, and before it the chosen fix, if there is one.
std::string spare_table(const fit::Fixes& fixes, const fit::Budget& budget,
                        const FixTableStyle& style);

// Why the chosen one was chosen, or why none is proposed. `noise`: see Rates.
std::string choice_note(const fit::Fixes& fixes, const fit::Budget& budget, Language language,
                        double noise);

// "--batch_size=8", "--gradient_accumulation_steps=64"
std::vector<std::string> as_arguments(const std::vector<config::Change>& changes);

// Why there are no more splits between the batch and 1; empty when there are some.
std::string split_note(Language language, const config::Config& config);

// When nothing fits that keeps the effective batch: the smallest need and its largest part.
std::string smallest_note(Language language, const fit::Fixes& fixes);

}  // namespace snug::report
