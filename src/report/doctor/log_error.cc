#include "report/doctor/log_error.h"
#include "report/numbers.h"

#include "base/bytes.h"

namespace snug::report {
namespace {

TextId text_of(doctor::log::LogProblem problem) {
  switch (problem) {
    case doctor::log::LogProblem::kMissing:
      return TextId::kErrorLogMissing;
    case doctor::log::LogProblem::kIsFolder:
      return TextId::kErrorLogIsFolder;
    case doctor::log::LogProblem::kCannotRead:
      return TextId::kErrorCannotReadLog;
    case doctor::log::LogProblem::kEmpty:
      return TextId::kErrorLogEmpty;
    case doctor::log::LogProblem::kSaysNothing:
      return TextId::kErrorNothingInLog;
    case doctor::log::LogProblem::kShowsNoFailure:
      break;
  }
  return TextId::kErrorNoFailureInLog;
}

}  // namespace

std::string log_error_text(Language language, const doctor::log::LogError& error) {
  const TextId text = text_of(error.problem);
  if (!error.path.empty()) return text_in(language, text, {error.path});
  return text_in(language, text,
                 {thousands_in(language, error.line_count), bytes_in(language, error.byte_count)});
}

}  // namespace snug::report
