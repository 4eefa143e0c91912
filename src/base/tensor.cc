#include "base/tensor.h"

#include <array>

namespace snug {

std::string_view name_of(Role role) {
  constexpr std::array<std::string_view, kRoleCount> kNames = {
      "weights", "gradients", "optimizer state", "activations", "loss head", "workspace", "I/O"};
  return kNames[static_cast<std::size_t>(role)];
}

}  // namespace snug
