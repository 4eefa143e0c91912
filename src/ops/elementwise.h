// Ops that work element by element.
#pragma once

#include "base/gelu_form.h"
#include "ops/operand.h"

namespace snug::ops {

struct Gelu {
  static constexpr std::string_view kName = "gelu";

  Read x;   // (B, T, C)
  Write y;  // may be x
  GeluForm form = GeluForm::kErf;

  static constexpr auto kPrecision = &Gelu::x;
  static constexpr auto operands() {
    return std::tuple{NamedOperand{"x", &Gelu::x}, NamedOperand{"y", &Gelu::y}};
  }
};

struct GeluBackward {
  static constexpr std::string_view kName = "gelu_backward";

  Read x;     // GELU's input
  Update dy;  // the output's gradient becomes the input's
  GeluForm form = GeluForm::kErf;

  static constexpr auto kPrecision = &GeluBackward::x;
  static constexpr auto operands() {
    return std::tuple{NamedOperand{"x", &GeluBackward::x}, NamedOperand{"dy", &GeluBackward::dy}};
  }
};

struct ResidualAdd {
  static constexpr std::string_view kName = "residual_add";

  Read residual, branch;  // (B, T, C)
  Write out;              // residual + dropout(branch); may be either of them
  std::uint32_t dropout_site = 0;

  static constexpr auto kPrecision = &ResidualAdd::residual;
  static constexpr auto operands() {
    return std::tuple{NamedOperand{"residual", &ResidualAdd::residual},
                      NamedOperand{"branch", &ResidualAdd::branch},
                      NamedOperand{"out", &ResidualAdd::out}};
  }
};

struct DropoutBackward {
  static constexpr std::string_view kName = "dropout_backward";

  Read dout;
  Write din;  // mask * scale * dout
  std::uint32_t dropout_site = 0;

  static constexpr auto kPrecision = &DropoutBackward::dout;
  static constexpr auto operands() {
    return std::tuple{NamedOperand{"dout", &DropoutBackward::dout},
                      NamedOperand{"din", &DropoutBackward::din}};
  }
};

// Softmax cross-entropy over the rows of a chunk.
struct CrossEntropy {
  static constexpr std::string_view kName = "cross_entropy";

  Read logits;                    // (chunk_rows, V)
  Read targets;                   // (B, T) int32
  Write losses;                   // (B, T) float32
  Optional<Write> gradient = {};  // the logits themselves, overwritten by their gradient

  static constexpr auto kPrecision = &CrossEntropy::logits;
  static constexpr auto operands() {
    return std::tuple{NamedOperand{"logits", &CrossEntropy::logits},
                      NamedOperand{"targets", &CrossEntropy::targets},
                      NamedOperand{"losses", &CrossEntropy::losses},
                      NamedOperand{"gradient", &CrossEntropy::gradient}};
  }
};

}  // namespace snug::ops
