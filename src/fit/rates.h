// How fast a device works, and how long an op of a Program takes on it: the larger of its
// arithmetic and its memory traffic, plus what it costs to start it (a roofline).
#pragma once

#include <array>

#include "base/dtype.h"
#include "fit/cards.h"
#include "program/program.h"

namespace snug::fit {

// Ops that run alike: one row of rates per kind of op, and one for the same op in a loop over row
// chunks, since the loss head's products are far wider.
struct OpRate {
  double start_seconds = 0;
  double seconds_per_byte = 0;
  double flop_seconds_f32 = 0, flop_seconds_bf16 = 0, flop_seconds_f16 = 0;

  double seconds_per_flop(DType dtype) const {
    return dtype == DType::kBF16  ? flop_seconds_bf16
           : dtype == DType::kF16 ? flop_seconds_f16
                                  : flop_seconds_f32;
  }
};

struct Rates {
  std::array<OpRate, 2 * ops::kOpKindCount> by_kind{};
  // A prediction p stands for the range from p * low to p * high.
  double low = 1, high = 1;
  // Measured: the middle run of the same ops against the quietest; 1 for figures. What differs by
  // less than that is not told apart.
  double noise = 1;

  static std::size_t index(ops::OpKind kind, bool in_loop) { return 2 * kind + (in_loop ? 1 : 0); }
  OpRate& at(ops::OpKind kind, bool in_loop) { return by_kind[index(kind, in_loop)]; }
  const OpRate& at(ops::OpKind kind, bool in_loop) const { return by_kind[index(kind, in_loop)]; }
  template <class Definition>
  OpRate& of(bool in_loop = false) {
    return at(ops::kind_of<Definition>(), in_loop);
  }
  template <class Definition>
  const OpRate& of(bool in_loop = false) const {
    return at(ops::kind_of<Definition>(), in_loop);
  }
};

// Of op number `op` of the phase, in all its rows.
double op_seconds(const Rates& rates, const program::Program& program, const program::Phase& phase,
                  std::size_t op);
double phase_seconds(const Rates& rates, const program::Program& program,
                     const program::Phase& phase);

// From a card's figures, with the shares of them that well-made kernels reach.
Rates card_rates(const Card& card);

}  // namespace snug::fit
