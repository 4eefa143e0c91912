// Products with a weight (out, in), and their gradients. A product never spans more rows of a
// sequence than tile_rows, so that its shape, and with it the order of its sums, does not depend on
// how the batch or the loss head is split (docs/decisions/0001). 0: the whole sequence.
#pragma once

#include "ops/operand.h"

namespace snug::ops {

struct Shapes;

struct Linear {
  static constexpr std::string_view kName = "linear";

  Read x;                    // (B, T, in)
  Read weight;               // (out, in)
  Optional<Read> bias = {};  // (out)
  Write y;                   // (B, T, out) = x weight^T + bias
  std::int64_t tile_rows = 0;
  bool row_from_context = false;  // only row StepContext::position, to y's only row (sampling)

  static constexpr auto kPrecision = &Linear::x;
  static constexpr auto operands() {
    return std::tuple{NamedOperand{"x", &Linear::x}, NamedOperand{"weight", &Linear::weight},
                      NamedOperand{"bias", &Linear::bias}, NamedOperand{"y", &Linear::y}};
  }
  double arithmetic(const Shapes& shapes) const;
};

struct LinearDx {
  static constexpr std::string_view kName = "linear_dx";

  Read dy;      // (B, T, out)
  Read weight;  // (out, in)
  Write dx;     // (B, T, in) = dy weight
  std::int64_t tile_rows = 0;

  static constexpr auto kPrecision = &LinearDx::dy;
  static constexpr auto operands() {
    return std::tuple{NamedOperand{"dy", &LinearDx::dy}, NamedOperand{"weight", &LinearDx::weight},
                      NamedOperand{"dx", &LinearDx::dx}};
  }
  double arithmetic(const Shapes& shapes) const;
};

struct LinearDw {
  static constexpr std::string_view kName = "linear_dw";

  Read dy;                      // (B, T, out)
  Read x;                       // (B, T, in)
  Update dweight;               // (out, in), dy^T x is added to it
  Optional<Update> dbias = {};  // (out), the sum of dy's rows is added to it
  std::int64_t tile_rows = 0;

  static constexpr auto kPrecision = &LinearDw::dy;
  static constexpr auto operands() {
    return std::tuple{NamedOperand{"dy", &LinearDw::dy}, NamedOperand{"x", &LinearDw::x},
                      NamedOperand{"dweight", &LinearDw::dweight},
                      NamedOperand{"dbias", &LinearDw::dbias}};
  }
  double arithmetic(const Shapes& shapes) const;
  double traffic(const Shapes& shapes) const;
};

}  // namespace snug::ops
