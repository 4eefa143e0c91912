#include "report/doctor/log_error.h"

#include "base/bytes.h"

namespace snug {
namespace {

TextId text_of(LogProblem problem) {
  switch (problem) {
    case LogProblem::kMissing:
      return TextId::kErrorLogMissing;
    case LogProblem::kIsFolder:
      return TextId::kErrorLogIsFolder;
    case LogProblem::kCannotRead:
      return TextId::kErrorCannotReadLog;
    case LogProblem::kEmpty:
      return TextId::kErrorLogEmpty;
    case LogProblem::kSaysNothing:
      return TextId::kErrorNothingInLog;
    case LogProblem::kShowsNoFailure:
      break;
  }
  return TextId::kErrorNoFailureInLog;
}

}  // namespace

std::string log_error_text(Language language, const LogError& error) {
  const TextId text = text_of(error.problem);
  if (!error.path.empty()) return text_in(language, text, {error.path});
  return text_in(language, text,
                 {with_thousands(error.line_count), format_bytes(error.byte_count)});
}

}  // namespace snug
