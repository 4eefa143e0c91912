#include "fit/rates.h"

#include <algorithm>
#include <cmath>

namespace snug::fit {
namespace {

// What well-made kernels reach of a card's figures: llm.c trains GPT-2 124M at 60% of an A100's
// bf16 rate and llmq a 0.5B model at 73% of a 4090's, attention and norms included, so products
// alone run at about three quarters. Attention runs at half of that, traffic at 80%.
constexpr double kProductShare = 0.75, kAttentionShare = 0.35, kTrafficShare = 0.8;
constexpr double kLaunchSeconds = 5e-6;
// The same sources, and cards whose clocks fall under load, span this much around the middle.
constexpr double kCardLow = 0.85, kCardHigh = 1.5;

}  // namespace

double op_seconds(const Rates& rates, const program::Program& program, const program::Phase& phase,
                  std::size_t op) {
  const ops::Shapes shapes = program::shapes_of(program, phase, op);
  const ops::Work work = ops::work_of(phase.ops[op], shapes);
  const OpRate& rate = rates.at(phase.ops[op].kind(), shapes.loop != nullptr);
  return work.starts * rate.start_seconds + std::max(work.flops * rate.seconds_per_flop(work.dtype),
                                                     work.bytes * rate.seconds_per_byte);
}

double phase_seconds(const Rates& rates, const program::Program& program,
                     const program::Phase& phase) {
  double seconds = 0;
  for (std::size_t op = 0; op < phase.ops.size(); ++op) {
    seconds += op_seconds(rates, program, phase, op);
  }
  return seconds;
}

Rates card_rates(const Card& card) {
  const auto set_arithmetic = [&](OpRate& rate, double share) {
    const auto seconds = [&](double tera) { return tera > 0 ? 1 / (tera * 1e12 * share) : 0; };
    rate.flop_seconds_f32 = seconds(card.fp32_tflops);
    rate.flop_seconds_bf16 = seconds(card.bf16_tflops);
    rate.flop_seconds_f16 = seconds(card.fp16_tflops);
  };
  Rates rates;
  for (OpRate& rate : rates.by_kind) {
    rate.start_seconds = kLaunchSeconds;
    rate.seconds_per_byte = 1 / (card.bandwidth_gbs * 1e9 * kTrafficShare);
  }
  for (const bool in_loop : {false, true}) {
    set_arithmetic(rates.of<ops::Linear>(in_loop), kProductShare);
    set_arithmetic(rates.of<ops::LinearDx>(in_loop), kProductShare);
    set_arithmetic(rates.of<ops::LinearDw>(in_loop), kProductShare);
  }
  set_arithmetic(rates.of<ops::Attention>(), kAttentionShare);
  set_arithmetic(rates.of<ops::AttentionBackward>(), kAttentionShare);
  rates.low = kCardLow;
  rates.high = kCardHigh;
  return rates;
}

}  // namespace snug::fit
