// Names of a program's parts in the reader's language.
#pragma once

#include <string>

#include "config/config.h"
#include "program/program.h"
#include "report/catalogue/plan_texts.h"

namespace snug::report {

std::string role_name(Language language, Role role);                  // "optimizer state"
std::string phase_name(Language language, program::PhaseKind phase);  // "evaluate"
std::string duration_in(Language language, double seconds);           // "165 ms", "2.5 h"

// The key `lang`, else the locale's.
Language language_of(const config::Config& config);

}  // namespace snug::report
