// What a log tells about which sizes are likely, for guesses about a number without a config.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "doctor/diagnosis/moment.h"

namespace snug {

struct GuessClues {
  // Sizes that the log itself mentions; 0: not.
  std::int64_t batch = 0, length = 0, vocabulary = 0, heads = 0;
  std::string dtype;
  LogMoment moment;
  bool is_old = false;               // before 2023
  std::int64_t allocated_bytes = 0;  // when it failed; 0: not known
};

GuessClues guess_clues(const LogSummary& log, const LogEvent& event);

// Factors of a guess's weight. A size that the log mentions makes a guess with it likely and
// one without it unlikely.
double agreement(std::int64_t mentioned, std::int64_t size);
double prior_of_batch(std::int64_t batch);

std::string_view half_dtype(const GuessClues& evidence);

}  // namespace snug
