#include "doctor/log/notes.h"

#include <algorithm>
#include <string_view>

namespace snug {

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

}  // namespace snug
