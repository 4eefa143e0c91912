// LayerNorm forward, row by row: mean, then variance about that mean, then the normalised row. A
// row never meets another, so neither the batch nor the threads can change its bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/layernorm.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include <cmath>

#include "backend/cpu/kernels/any_precision.h"
#include "backend/cpu/kernels/chunks.h"
#include "backend/cpu/kernels/fast_kernels.h"
#include "backend/cpu/kernels/float16-inl.h"
#include "backend/cpu/kernels/vectors-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

constexpr float kEpsilon = 1e-5f;

// y = (x - mean) * rstd * gamma + beta for one row; the one place where y is made, so that
// layernorm_apply repeats layernorm_forward's bits.
template <class X>
HWY_NOINLINE void normalise_row(const LayerNormOn<X>& op, std::int64_t row) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d);
  const X* x = op.x + row * op.C;
  X* y = op.y + row * op.C;
  const auto mean = hn::Set(d, op.mean[row]), rstd = hn::Set(d, op.rstd[row]);
  for (std::int64_t i = 0, rest = op.C; rest > 0; i += lanes, rest -= lanes) {
    const auto centred = hn::Sub(load_upto(d, x + i, rest), mean);
    const auto beta = op.beta ? load_upto(d, op.beta + i, rest) : hn::Zero(d);
    const auto scaled = hn::Mul(centred, rstd);
    store_upto(hn::MulAdd(scaled, load_upto(d, op.gamma + i, rest), beta), d, y + i, rest);
  }
}

template <class X>
HWY_INLINE void layernorm_forward_rows_of(const LayerNormOn<X>& op, std::int64_t begin,
                                          std::int64_t end) {
  const hn::ScalableTag<float> d;
  const float width = static_cast<float>(op.C);
  for (std::int64_t row = begin; row < end; ++row) {
    const X* x = op.x + row * op.C;
    const float mean = sum_of_terms(d, op.C,
                                    [&](std::int64_t i, std::int64_t rest)
                                        HWY_ATTR { return load_upto(d, x + i, rest); }) /
                       width;
    const auto mean_vector = hn::Set(d, mean);
    const float variance = sum_of_terms(d, op.C,
                                        [&](std::int64_t i, std::int64_t rest) HWY_ATTR {
                                          const auto centred =
                                              hn::Sub(load_upto(d, x + i, rest), mean_vector);
                                          return keep_upto(d, hn::Mul(centred, centred), rest);
                                        }) /
                           width;
    op.mean[row] = mean;
    op.rstd[row] = 1.0f / std::sqrt(variance + kEpsilon);
    normalise_row(op, row);
  }
}

template <class X>
HWY_INLINE void layernorm_apply_rows_of(const LayerNormOn<X>& op, std::int64_t begin,
                                        std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) normalise_row(op, row);
}

void layernorm_forward_rows(AnyPrecision<LayerNormOn> op, std::int64_t begin, std::int64_t end) {
  std::visit([&](const auto* a) HWY_ATTR { layernorm_forward_rows_of(*a, begin, end); }, op);
}
void layernorm_apply_rows(AnyPrecision<LayerNormOn> op, std::int64_t begin, std::int64_t end) {
  std::visit([&](const auto* a) HWY_ATTR { layernorm_apply_rows_of(*a, begin, end); }, op);
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::cpu {

HWY_EXPORT(layernorm_forward_rows);
HWY_EXPORT(layernorm_apply_rows);

template <class X>
void layernorm_forward_fast(const LayerNormOn<X>& op) noexcept {
  for_each_rows(op.rows, op.C, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(layernorm_forward_rows)(&op, begin, end);
  });
}

template <class X>
void layernorm_apply_fast(const LayerNormOn<X>& op) noexcept {
  for_each_rows(op.rows, op.C, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(layernorm_apply_rows)(&op, begin, end);
  });
}

template void layernorm_forward_fast(const LayerNormOn<float>&) noexcept;
template void layernorm_forward_fast(const LayerNormOn<Bf16>&) noexcept;
template void layernorm_forward_fast(const LayerNormOn<F16>&) noexcept;
template void layernorm_apply_fast(const LayerNormOn<float>&) noexcept;
template void layernorm_apply_fast(const LayerNormOn<Bf16>&) noexcept;
template void layernorm_apply_fast(const LayerNormOn<F16>&) noexcept;

}  // namespace snug::cpu
#endif  // HWY_ONCE
