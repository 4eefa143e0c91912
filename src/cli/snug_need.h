// What the config of a doctor's case needs in Snug, by the same planning as `snug plan`.
#pragma once

#include <optional>

#include "doctor/case.h"
#include "report/doctor/report.h"

namespace snug::cli {

// On the card, or on one of the size that the log names. Nothing where either is not known.
std::optional<report::SnugNeed> snug_need(const doctor::DoctorCase& c);

}  // namespace snug::cli
