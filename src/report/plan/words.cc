#include "report/plan/words.h"

#include <fmt/format.h>

#include "report/numbers.h"

namespace snug::report {

std::string role_name(Language language, Role role) {
  switch (role) {
    case Role::kWeights:
      return text_in(language, PlanTextId::kRoleWeights);
    case Role::kGradients:
      return text_in(language, PlanTextId::kRoleGradients);
    case Role::kOptimizerState:
      return text_in(language, PlanTextId::kRoleOptimizer);
    case Role::kActivations:
      return text_in(language, PlanTextId::kRoleActivations);
    case Role::kLossHead:
      return text_in(language, PlanTextId::kRoleLossHead);
    case Role::kWorkspace:
      return text_in(language, PlanTextId::kRoleWorkspace);
    case Role::kIo:
      return text_in(language, PlanTextId::kRoleIo);
  }
  return "?";
}

std::string phase_name(Language language, program::PhaseKind phase) {
  switch (phase) {
    case program::PhaseKind::kLoad:
      return text_in(language, PlanTextId::kPhaseResume);
    case program::PhaseKind::kEvaluate:
      return text_in(language, PlanTextId::kPhaseEvaluate);
    case program::PhaseKind::kBeginIteration:
      return text_in(language, PlanTextId::kPhaseBegin);
    case program::PhaseKind::kMicroStep:
      return text_in(language, PlanTextId::kPhaseTrain);
    case program::PhaseKind::kUpdate:
      return text_in(language, PlanTextId::kPhaseUpdate);
    case program::PhaseKind::kSave:
      return text_in(language, PlanTextId::kPhaseSave);
    case program::PhaseKind::kPrefill:
      return text_in(language, PlanTextId::kPhasePrefill);
    case program::PhaseKind::kDecode:
      return text_in(language, PlanTextId::kPhaseDecode);
  }
  return "?";
}

std::string duration_in(Language language, double seconds) {
  constexpr double kMinute = 60, kHour = 3600, kDay = 86400, kYear = 365.25 * kDay;
  const auto in = [&](PlanTextId unit, double amount, int digits) {
    return text_in(language, unit, {number_in(language, fmt::format("{:.{}f}", amount, digits))});
  };
  if (seconds < 1) return in(PlanTextId::kUnitMilliseconds, seconds * 1e3, 0);
  if (seconds < 2 * kMinute) return in(PlanTextId::kUnitSeconds, seconds, 1);
  if (seconds < 2 * kHour) return in(PlanTextId::kUnitMinutes, seconds / kMinute, 0);
  if (seconds < 2 * kDay) return in(PlanTextId::kUnitHours, seconds / kHour, 1);
  if (seconds < 2 * kYear) return in(PlanTextId::kUnitDays, seconds / kDay, 1);
  return in(PlanTextId::kUnitYears, seconds / kYear, 0);
}

Language language_of(const config::Config& config) {
  return language_of(config.lang == "auto" ? "" : config.lang, locale_of_environment());
}

}  // namespace snug::report
