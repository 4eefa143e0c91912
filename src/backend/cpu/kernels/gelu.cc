// GELU in its exact form, x Phi(x) with Phi the normal distribution function, and its derivative
// Phi(x) + x phi(x).
//
// Phi and the derivative are 1/2 plus an odd function of x, here x P(x^2) with a minimax polynomial
// P (bench/gelu_fit.py). Farther out than `end` they are 0 or 1 up to 1e-7. Errors are absolute, as
// those of PyTorch's 0.5 (1 + erf) are: gelu_test has the bounds.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/gelu.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "backend/cpu/kernels/chunks.h"
#include "backend/cpu/kernels/fast_kernels.h"
#include "backend/cpu/kernels/vectors-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

// 1/2 + x P(u), u = 2 (x / end)^2 - 1: in [-1, 1] as far as `end`, where P's powers of u stay
// small.
template <class D, std::size_t kTerms, class V = hn::Vec<D>>
HWY_INLINE V half_plus_odd(D d, V x, float end, const float (&p)[kTerms]) {
  const V u = hn::MulAdd(hn::Mul(x, x), hn::Set(d, 2 / (end * end)), hn::Set(d, -1.0f));
  V sum = hn::Set(d, p[kTerms - 1]);
#pragma GCC unroll 32
  for (std::size_t i = 2; i <= kTerms; ++i) sum = hn::MulAdd(sum, u, hn::Set(d, p[kTerms - i]));
  return hn::MulAdd(x, sum, hn::Set(d, 0.5f));
}

// False for NaN, which then goes through the polynomial and stays NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> beyond(D d, V x, float end) {
  return hn::Ge(hn::Abs(x), hn::Set(d, end));
}

constexpr float kGeluEnd = 5.4f;
constexpr float kGeluTerms[] = {
    1.309281126e-01f,  -6.532805485e-02f, 4.849959148e-02f,  -3.920681398e-02f, 3.211659553e-02f,
    -2.574644792e-02f, 1.964513800e-02f,  -1.396335918e-02f, 9.651229695e-03f,  -6.715258651e-03f,
    3.658845032e-03f,  -1.186487462e-03f, 8.750127576e-04f,  -1.028340502e-03f, 3.928289513e-04f};

template <class D, class V = hn::Vec<D>>
HWY_INLINE V gelu_of(D d, V x) {
  const V inside = hn::Mul(x, half_plus_odd(d, x, kGeluEnd, kGeluTerms));
  return hn::IfThenElse(beyond(d, x, kGeluEnd), hn::Max(x, hn::Zero(d)), inside);
}

constexpr float kSlopeEnd = 5.9f;
constexpr float kSlopeTerms[] = {
    1.199112891e-01f,  -6.046619461e-02f, 4.728137358e-02f,  -4.417695777e-02f, 4.726051396e-02f,
    -5.418830816e-02f, 6.161403632e-02f,  -6.758005358e-02f, 7.029729511e-02f,  -6.178870340e-02f,
    4.402925043e-02f,  -3.968184845e-02f, 4.259220700e-02f,  -2.154827328e-02f, -1.793720087e-03f,
    -2.989564352e-03f, 1.012277755e-02f,  -4.149353266e-03f};

template <class D, class V = hn::Vec<D>>
HWY_INLINE V slope_of(D d, V x) {
  const V step = hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), hn::Set(d, 1.0f));
  return hn::IfThenElse(beyond(d, x, kSlopeEnd), step, half_plus_odd(d, x, kSlopeEnd, kSlopeTerms));
}

void gelu_range(const float* x, float* y, std::int64_t count) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d);
  for (; count > 0; count -= lanes, x += lanes, y += lanes) {
    store_upto(gelu_of(d, load_upto(d, x, count)), d, y, count);
  }
}

void gelu_backward_range(const float* x, float* dy, std::int64_t count) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d);
  for (; count > 0; count -= lanes, x += lanes, dy += lanes) {
    const auto slope = slope_of(d, load_upto(d, x, count));
    store_upto(hn::Mul(load_upto(d, dy, count), slope), d, dy, count);
  }
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::cpu {

HWY_EXPORT(gelu_range);
HWY_EXPORT(gelu_backward_range);

void gelu_fast(const Gelu& op) noexcept {
  for_each_chunk(op.count, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(gelu_range)(op.x + begin, op.y + begin, end - begin);
  });
}

void gelu_backward_fast(const GeluBackward& op) noexcept {
  for_each_chunk(op.count, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(gelu_backward_range)(op.x + begin, op.dy + begin, end - begin);
  });
}

}  // namespace snug::cpu
#endif  // HWY_ONCE
