// How fast a device works, and how long an op of a Program takes on it: the larger of its
// arithmetic and its memory traffic, plus what it costs to start it (a roofline).
#pragma once

#include <array>

#include "base/dtype.h"
#include "fit/cards.h"
#include "program/program.h"

namespace snug {

// What an op does, from the shapes of its tensors.
struct Work {
  double flops = 0;           // of products and attention; elementwise arithmetic counts as traffic
  double bytes = 0;           // tensors read and written once each
  double starts = 1;          // the loss head's ops start once per chunk
  DType dtype = DType::kF32;  // of the arithmetic
};
Work work_of(const Program& program, const Phase& phase, const Op& op);

// Ops that run alike: one row of rates per OpKind, and apart from them the loss head's, whose
// products are far wider.
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
  static constexpr std::size_t kKinds = static_cast<std::size_t>(OpKind::kCheckpointRead) + 1;

  std::array<OpRate, 2 * kKinds> ops{};
  // A prediction p stands for the range from p * low to p * high.
  double low = 1, high = 1;

  OpRate& at(OpKind kind, bool in_loss_head) {
    return ops[2 * static_cast<std::size_t>(kind) + (in_loss_head ? 1 : 0)];
  }
  const OpRate& at(OpKind kind, bool in_loss_head) const {
    return ops[2 * static_cast<std::size_t>(kind) + (in_loss_head ? 1 : 0)];
  }
};

double op_seconds(const Rates& rates, const Op& op, const Work& work);
double phase_seconds(const Rates& rates, const Program& program, const Phase& phase);

// From a card's figures, with the shares of them that well-made kernels reach.
Rates card_rates(const Card& card);

}  // namespace snug
