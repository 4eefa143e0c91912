// The update of the weights.
#pragma once

#include "ops/operand.h"

namespace snug::ops {

struct GradientNorm {
  static constexpr std::string_view kName = "gradient_norm";

  ReadList gradients;
  Write norm;  // (1) float64, of the scaled gradients

  static constexpr auto operands() {
    return std::tuple{NamedOperand{"gradients", &GradientNorm::gradients},
                      NamedOperand{"norm", &GradientNorm::norm}};
  }
};

// PyTorch's AdamW, with scaling and clipping of the gradient folded in. Nothing changes when the
// norm is not finite.
struct AdamW {
  static constexpr std::string_view kName = "adamw";

  Update weight;                      // float32
  Read gradient;                      // float32, a sum
  Update m, v;                        // float32, or bfloat16 rounded stochastically
  Read norm;                          // (1) float64
  Optional<Write> compute_copy = {};  // the weight in the precision of the arithmetic
  double weight_decay = 0;
  std::int64_t parameter_index = 0;  // keys the rounding of 16-bit moments

  static constexpr auto kPrecision = &AdamW::m;
  static constexpr auto operands() {
    return std::tuple{
        NamedOperand{"weight", &AdamW::weight}, NamedOperand{"gradient", &AdamW::gradient},
        NamedOperand{"m", &AdamW::m},           NamedOperand{"v", &AdamW::v},
        NamedOperand{"norm", &AdamW::norm},     NamedOperand{"compute_copy", &AdamW::compute_copy}};
  }
};

}  // namespace snug::ops
