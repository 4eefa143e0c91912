// The cause of a failure whose config nobody gave: every run that explains the message has a vote.
#pragma once

#include <optional>
#include <vector>

#include "doctor/diagnosis/cause.h"
#include "doctor/diagnosis/run_search.h"

namespace snug::doctor::diagnosis {

struct LogAloneVerdict {
  CauseVerdict verdict;
  std::size_t run = 0;  // the likeliest of those that say so
  std::optional<CardTrial> trial;
  bool is_assumable = false;  // so likely that fixes may be worked out for it
};

// `runs` is not empty.
LogAloneVerdict judge_log_alone(const FailureEvidence& evidence,
                                const std::vector<ExplainingRun>& runs);

}  // namespace snug::doctor::diagnosis
