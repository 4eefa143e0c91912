// Layer normalisation over the last dimension.
#pragma once

#include "ops/operand.h"

namespace snug::ops {

struct Shapes;

struct LayerNorm {
  static constexpr std::string_view kName = "layernorm";

  Read x;                    // (B, T, C)
  Read gamma;                // (C)
  Optional<Read> beta = {};  // (C)
  Write y;                   // (B, T, C)
  Write mean, rstd;          // (B, T) float32

  static constexpr auto kPrecision = &LayerNorm::x;
  static constexpr auto operands() {
    return std::tuple{
        NamedOperand{"x", &LayerNorm::x},       NamedOperand{"gamma", &LayerNorm::gamma},
        NamedOperand{"beta", &LayerNorm::beta}, NamedOperand{"y", &LayerNorm::y},
        NamedOperand{"mean", &LayerNorm::mean}, NamedOperand{"rstd", &LayerNorm::rstd}};
  }
};

// The same y from the statistics that LayerNorm left.
struct LayerNormApply {
  static constexpr std::string_view kName = "layernorm_apply";

  Read x, gamma;
  Optional<Read> beta = {};
  Read mean, rstd;
  Write y;

  static constexpr auto kPrecision = &LayerNormApply::x;
  static constexpr auto operands() {
    return std::tuple{
        NamedOperand{"x", &LayerNormApply::x},       NamedOperand{"gamma", &LayerNormApply::gamma},
        NamedOperand{"beta", &LayerNormApply::beta}, NamedOperand{"mean", &LayerNormApply::mean},
        NamedOperand{"rstd", &LayerNormApply::rstd}, NamedOperand{"y", &LayerNormApply::y}};
  }
};

struct LayerNormBackward {
  static constexpr std::string_view kName = "layernorm_backward";

  Read dy, x, gamma, mean, rstd;
  Update dx;                    // (B, T, C), added to: the residual stream's gradient
  Update dgamma;                // (C), added to
  Optional<Update> dbeta = {};  // (C), added to

  static constexpr auto kPrecision = &LayerNormBackward::x;
  static constexpr auto operands() {
    return std::tuple{NamedOperand{"dy", &LayerNormBackward::dy},
                      NamedOperand{"x", &LayerNormBackward::x},
                      NamedOperand{"gamma", &LayerNormBackward::gamma},
                      NamedOperand{"mean", &LayerNormBackward::mean},
                      NamedOperand{"rstd", &LayerNormBackward::rstd},
                      NamedOperand{"dx", &LayerNormBackward::dx},
                      NamedOperand{"dgamma", &LayerNormBackward::dgamma},
                      NamedOperand{"dbeta", &LayerNormBackward::dbeta}};
  }
  double traffic(const Shapes& shapes) const;
};

}  // namespace snug::ops
