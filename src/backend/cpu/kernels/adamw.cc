// The optimizer's kernels: the AdamW update, in PyTorch's order of operations, with its moments in
// float or in bfloat16 and a 16-bit copy of the weights in the same pass; and the sum of squares
// that the gradient's norm comes from.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/adamw.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "backend/cpu/kernels/bf16-inl.h"
#include "backend/cpu/kernels/chunks.h"
#include "backend/cpu/kernels/fast_kernels.h"
#include "backend/cpu/kernels/float16-inl.h"
#include "backend/cpu/kernels/philox-inl.h"
#include "backend/cpu/kernels/vectors-inl.h"
#include "base/philox.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

// A moment in its own type; `random` is below 2^16.
template <class D>
HWY_INLINE void store_moment(hn::Vec<D> x, hn::VFromD<hn::RebindToUnsigned<D>> /*random*/, D d,
                             float* p, std::int64_t count) {
  store_upto(x, d, p, count);
}

template <class D>
HWY_INLINE void store_moment(hn::Vec<D> x, hn::VFromD<hn::RebindToUnsigned<D>> random, D d,
                             std::uint16_t* p, std::int64_t count) {
  store_rounded_upto(x, random, d, p, count);
}

// The random words of MomentRounding: dropout's generator with another purpose, and with the
// parameter in place of the sequence.
HWY_INLINE DropoutStream rounding_stream(const MomentRounding& rounding) {
  return dropout_stream({.seed = rounding.seed,
                         .site = static_cast<std::uint32_t>(RandomPurpose::kRoundMoments),
                         .iteration = rounding.iteration,
                         .first_sequence = rounding.parameter},
                        0);
}

// Elements [begin, end), begin a multiple of 4. Op is AdamW or AdamWBf16. Scalars are made in
// double and rounded once, as PyTorch passes Python's numbers to its kernels. `op` is a copy: no
// store can change it, so its pointers stay in registers.
template <class Op>
HWY_INLINE void update_range(const Op op, std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> d32;
  const std::int64_t lanes = lane_count(d);
  const auto set = [&](double value) HWY_ATTR { return hn::Set(d, static_cast<float>(value)); };
  const double learning_rate = op.learning_rate;
  const auto gradient_scale = set(op.gradient_scale);
  const auto keep = set(1.0 - learning_rate * op.weight_decay);
  const auto m_weight = set(1.0 - op.beta1), v_weight = set(1.0 - op.beta2);
  const auto beta2 = set(op.beta2), epsilon = set(op.epsilon);
  const auto root_correction2 = set(std::sqrt(static_cast<double>(op.correction2)));
  const auto step = set(learning_rate / op.correction1);
  // If the compiler may choose, it does not inline this and loads the scalars above each time.
  const auto update_vector = [&](std::int64_t i, auto random) HWY_ATTR
      __attribute__((always_inline)) {
    const std::int64_t rest = end - i;
    const auto g = hn::Mul(load_upto(d, op.gradients + i, rest), gradient_scale);
    const auto w = load_upto(d, op.weights + i, rest);
    auto m = load_upto(d, op.m + i, rest);
    auto v = load_upto(d, op.v + i, rest);
    m = hn::MulAdd(hn::Sub(g, m), m_weight, m);
    v = hn::MulAdd(hn::Mul(v_weight, g), g, hn::Mul(v, beta2));
    const auto denominator = hn::Add(hn::Div(hn::Sqrt(v), root_correction2), epsilon);
    const auto update = hn::Div(hn::Mul(step, m), denominator);
    const auto moved = hn::MulSub(w, keep, update);
    store_upto(moved, d, op.weights + i, rest);
    if (op.copy_bf16 != nullptr) store_upto(moved, d, op.copy_bf16 + i, rest);
    if (op.copy_f16 != nullptr) store_upto(moved, d, op.copy_f16 + i, rest);
    store_moment(m, hn::And(random, hn::Set(d32, 0xFFFF)), d, op.m + i, rest);
    store_moment(v, hn::ShiftRight<16>(random), d, op.v + i, rest);
  };
  if constexpr (std::is_same_v<Op, AdamWBf16>) {
    const DropoutStream stream = rounding_stream(op.rounding);
    for (std::int64_t i = begin; i < end; i += 2 * lanes) {
      hn::Vec<decltype(d32)> low, high;
      philox_pair(d32, stream, static_cast<std::uint64_t>(i), low, high);
      update_vector(i, low);
      if (i + lanes < end) update_vector(i + lanes, high);
    }
  } else {
    for (std::int64_t i = begin; i < end; i += lanes) update_vector(i, hn::Zero(d32));
  }
}

void adamw_range(const AdamW& op, std::int64_t begin, std::int64_t end) {
  update_range(op, begin, end);
}

void adamw_bf16_range(const AdamWBf16& op, std::int64_t begin, std::int64_t end) {
  update_range(op, begin, end);
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

constexpr std::int64_t kArrays = 4;  // weights, gradients and two moments: the work per element

HWY_EXPORT(adamw_range);
HWY_EXPORT(adamw_bf16_range);
HWY_EXPORT(square_block);

void adamw_fast(const AdamW& op) noexcept {
  for_each_range(op.count, kChunk, kArrays, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(adamw_range)(op, begin, end);
  });
}

void adamw_bf16_fast(const AdamWBf16& op) noexcept {
  for_each_range(op.count, kChunk, kArrays, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(adamw_bf16_range)(op, begin, end);
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
