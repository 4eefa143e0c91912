// The optimizer's two kernels: the AdamW update, in PyTorch's order of operations, and the sum of
// squares that the gradient's norm comes from.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/adamw.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include <algorithm>
#include <cmath>

#include "backend/cpu/kernels/chunks.h"
#include "backend/cpu/kernels/fast_kernels.h"
#include "backend/cpu/kernels/vectors-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

// Elements [begin, end). Scalars are made in double and rounded once, as PyTorch passes Python's
// numbers to its kernels.
void adamw_range(const AdamW& op, std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d);
  const auto set = [&](double value) HWY_ATTR { return hn::Set(d, static_cast<float>(value)); };
  const double learning_rate = op.learning_rate;
  const auto gradient_scale = set(op.gradient_scale);
  const auto keep = set(1.0 - learning_rate * op.weight_decay);
  const auto m_weight = set(1.0 - op.beta1), v_weight = set(1.0 - op.beta2);
  const auto beta2 = set(op.beta2), epsilon = set(op.epsilon);
  const auto root_correction2 = set(std::sqrt(static_cast<double>(op.correction2)));
  const auto step = set(learning_rate / op.correction1);
  for (std::int64_t i = begin, rest = end - begin; rest > 0; i += lanes, rest -= lanes) {
    const auto g = hn::Mul(load_upto(d, op.gradients + i, rest), gradient_scale);
    const auto w = load_upto(d, op.weights + i, rest);
    auto m = load_upto(d, op.m + i, rest);
    auto v = load_upto(d, op.v + i, rest);
    m = hn::MulAdd(hn::Sub(g, m), m_weight, m);
    v = hn::MulAdd(hn::Mul(v_weight, g), g, hn::Mul(v, beta2));
    const auto denominator = hn::Add(hn::Div(hn::Sqrt(v), root_correction2), epsilon);
    const auto update = hn::Div(hn::Mul(step, m), denominator);
    store_upto(hn::MulSub(w, keep, update), d, op.weights + i, rest);
    store_upto(m, d, op.m + i, rest);
    store_upto(v, d, op.v + i, rest);
  }
}

// One block of at most kSquareBlock floats. The square of a float is exact in double, so the tail
// needs no care; where an element is added depends on its index in the block alone.
double square_block(const float* x, std::int64_t count) {
  const hn::ScalableTag<double> dd;
  const hn::Rebind<float, decltype(dd)> df;
  const std::int64_t lanes = lane_count(dd);
  auto sum0 = hn::Zero(dd), sum1 = hn::Zero(dd), sum2 = hn::Zero(dd), sum3 = hn::Zero(dd);
  const auto add_square = [&](auto sum, const float* p) HWY_ATTR {
    const auto wide = hn::PromoteTo(dd, hn::LoadU(df, p));
    return hn::MulAdd(wide, wide, sum);
  };
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    sum0 = add_square(sum0, x + i);
    sum1 = add_square(sum1, x + i + lanes);
    sum2 = add_square(sum2, x + i + 2 * lanes);
    sum3 = add_square(sum3, x + i + 3 * lanes);
  }
  const auto sum = hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
  double total = hn::GetLane(hn::SumOfLanes(dd, sum));
  for (; i < count; ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return total;
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::cpu {

HWY_EXPORT(adamw_range);
HWY_EXPORT(square_block);

void adamw_fast(const AdamW& op) noexcept {
  for_each_chunk(op.count, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(adamw_range)(op, begin, end);
  });
}

double sum_of_squares_fast(const float* x, std::int64_t count, double* scratch) noexcept {
  const std::int64_t blocks = ceil_div(count, kSquareBlock);
  for_each_range(count, kSquareBlock, 1, [&](std::int64_t begin, std::int64_t end) {
    scratch[begin / kSquareBlock] = HWY_DYNAMIC_DISPATCH(square_block)(x + begin, end - begin);
  });
  double total = 0.0;
  for (std::int64_t block = 0; block < blocks; ++block) total += scratch[block];
  return total;
}

}  // namespace snug::cpu
#endif  // HWY_ONCE
