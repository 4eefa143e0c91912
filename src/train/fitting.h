// --fit: settings changed so that a run fits, and what is said about it.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "fit/fixes.h"

namespace snug {

// Applies what fix_to_apply() chose to `config` and returns what was changed and why, one line
// each; says so in one line when nothing has to change or nothing helps. `on_card`: the bits are
// not promised.
std::vector<std::string> apply_fix(LoadedConfig& config, const Fixes& fixes, bool on_card);

// "batch_size 64 -> 8, gradient_accumulation_steps 8 -> 64"
std::string changes_text(const std::vector<Change>& changes);

}  // namespace snug
