// Tensor shapes that a log prints.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "doctor/log/summary.h"

namespace snug::doctor::log {

// The shape in inductor's "buf0 = empty_strided_cuda((12, 1024, 50304), (51511296, 50304, 1),
// torch.float32)", of a folded text that starts after "empty_strided". Nothing while incomplete.
std::optional<LogShape> shape_of_strided(std::string_view folded_text);

// TensorFlow's "tensor with shape[1,12,1024,1024] and type float", numpy's "array with shape
// (8, 4) and data type float64", of a folded message.
std::optional<LogShape> shape_in_message(std::string_view folded_text);

}  // namespace snug::doctor::log
