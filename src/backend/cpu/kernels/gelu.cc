// GELU in its exact form, x Phi(x) with Phi the normal distribution function, and its derivative
// Phi(x) + x phi(x).
//
// Everything comes from the upper tail Q(a) = 1 - Phi(a) = erfc(a / sqrt 2) / 2 at a = |x|, which
// has no cancellation: Phi(x) is Q(a) for x < 0 and 1 - Q(a) otherwise. Measured against double
// over
// [-14, 14]: Phi and the derivative within 1.5e-7; x Phi(x) within 3 * 2^-23 of itself for every x
// with FMA, within 5 * 2^-23 for x > -4 and 34 * 2^-23 for all x without.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/gelu.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "backend/cpu/kernels/chunks.h"
#include "backend/cpu/kernels/exp-inl.h"
#include "backend/cpu/kernels/fast_kernels.h"
#include "backend/cpu/kernels/vectors-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

template <class V>
struct Normal {
  V phi;       // Phi(x)
  V exp_part;  // e^(-x^2 / 2)
};

// Q(a) = e^(-a^2 / 2) P(u) / (a + 4), u = (a - 4) / (a + 4): P is smooth and of size 0.5 to 2, and
// its degree-9 Chebyshev fit over 0 <= a <= 14 errs by 1e-8. Beyond 13.3, Q is 0 in float.
template <class D, class V = hn::Vec<D>>
HWY_INLINE Normal<V> normal(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V a = hn::Min(hn::Abs(x), hn::Set(d, 14.0f));
  const V r = hn::Div(one, hn::Add(a, hn::Set(d, 4.0f)));
  const V u = hn::NegMulAdd(r, hn::Set(d, 8.0f), one);
  V p = hn::Set(d, -0.0001201844011f);
  p = hn::MulAdd(p, u, hn::Set(d, 0.0002012617303f));
  p = hn::MulAdd(p, u, hn::Set(d, 0.001572317879f));
  p = hn::MulAdd(p, u, hn::Set(d, -0.0035261837f));
  p = hn::MulAdd(p, u, hn::Set(d, -0.007529250703f));
  p = hn::MulAdd(p, u, hn::Set(d, 0.06040668873f));
  p = hn::MulAdd(p, u, hn::Set(d, -0.1865226849f));
  p = hn::MulAdd(p, u, hn::Set(d, 0.3871366841f));
  p = hn::MulAdd(p, u, hn::Set(d, -0.6078966183f));
  p = hn::MulAdd(p, u, hn::Set(d, 0.7552851383f));
  // The rounding of a^2 would cost a^2 / 4 ulp in e^(-a^2 / 2). With FMA the lost part is known;
  // without it, lost is 0 and the correction does nothing.
  const V square = hn::Mul(a, a);
  const V lost = hn::MulSub(a, a, square);
  V e = exp_of_nonpositive(d, hn::Mul(square, hn::Set(d, -0.5f)));
  e = hn::NegMulAdd(hn::Mul(lost, hn::Set(d, 0.5f)), e, e);
  const V ep = hn::Mul(e, p);
  const V phi = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(ep, r), hn::NegMulAdd(ep, r, one));
  return {phi, e};
}

void gelu_range(const float* x, float* y, std::int64_t count) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d);
  for (; count > 0; count -= lanes, x += lanes, y += lanes) {
    const auto in = load_upto(d, x, count);
    store_upto(hn::Mul(in, normal(d, in).phi), d, y, count);
  }
}

void gelu_backward_range(const float* x, float* dy, std::int64_t count) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d);
  const auto inv_sqrt_two_pi = hn::Set(d, 0.3989422804f);
  for (; count > 0; count -= lanes, x += lanes, dy += lanes) {
    const auto in = load_upto(d, x, count);
    const auto n = normal(d, in);
    const auto slope = hn::MulAdd(hn::Mul(in, inv_sqrt_two_pi), n.exp_part, n.phi);
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
