#include "doctor/log_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace snug {
namespace {

// As it stands in nanoGPT's train.py.
constexpr std::string_view kNanoGptScaler =
    "scaler = torch.cuda.amp.GradScaler(enabled=(dtype == 'float16'))";

LogNote not_enough_sms() {
  // torch/_inductor/utils.py, is_big_gpu: 68 is the count of an RTX 3080.
  return {"The card has fewer than the 68 multiprocessors that inductor's GEMM autotuning wants.",
          "Harmless: matrix products use cuBLAS instead. Results and memory stay the same.", ""};
}

LogNote gradscaler_deprecated(const LogEvent& event) {
  const std::string line = event.detail.empty() ? std::string(kNanoGptScaler) : event.detail;
  return {"torch.cuda.amp.GradScaler is deprecated since PyTorch 2.4.",
          "Harmless for now: the scaler works as before. It does nothing unless dtype is float16.",
          corrected_gradscaler(line)};
}

LogNote dtype_unsupported(const LogEvent& event) {
  if (event.dtype != "bfloat16") {
    return {fmt::format("{} is not implemented where the model runs.", event.dtype),
            "Half precision needs a GPU; on the CPU train in float32.", "--dtype=float32"};
  }
  return {"The card has no bfloat16: that came with Ampere (compute capability 8.0).",
          "float16 takes the same bytes, but its small range needs the loss scaled; nanoGPT's "
          "GradScaler does that when dtype is float16.",
          "--dtype=float16"};
}

}  // namespace

std::string corrected_gradscaler(std::string line) {
  constexpr std::string_view kOld = "torch.cuda.amp.GradScaler(";
  const std::size_t at = line.find(kOld);
  if (at == std::string::npos) return line;
  const std::string_view rest = std::string_view(line).substr(at + kOld.size());
  const std::size_t argument = std::min(rest.find_first_not_of(' '), rest.size());
  const bool is_empty = rest.substr(argument).starts_with(')') || argument == rest.size();
  line.replace(at, kOld.size(),
               is_empty ? "torch.amp.GradScaler('cuda'" : "torch.amp.GradScaler('cuda', ");
  return line;
}

std::optional<LogNote> note_for(const LogEvent& event) {
  switch (event.kind) {
    case LogEventKind::kNotEnoughSms:
      return not_enough_sms();
    case LogEventKind::kGradScalerDeprecated:
      return gradscaler_deprecated(event);
    case LogEventKind::kDtypeUnsupported:
      return dtype_unsupported(event);
    default:
      return std::nullopt;
  }
}

}  // namespace snug
