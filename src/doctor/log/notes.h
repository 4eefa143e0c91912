// The corrected line of a program that a warning in its log is about.
#pragma once

#include <string>

namespace snug {

// `line` with the call that PyTorch 2.4 deprecated replaced: torch.cuda.amp.GradScaler(x) becomes
// torch.amp.GradScaler('cuda', x). A line without such a call is returned as it is.
std::string corrected_gradscaler(std::string line);

}  // namespace snug
