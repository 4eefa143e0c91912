// Whether this is Linux under Windows (WSL2), where the graphics driver is that of Windows.
#pragma once

#include <string>

namespace snug::machine {

// `proc` is /proc.
bool is_wsl(const std::string& proc = "/proc");

}  // namespace snug::machine
