// GELU, x Phi(x), and its derivative Phi(x) + x Phi'(x): in the exact form, with Phi the normal
// distribution function, and in the tanh form, with the sigmoid that comes close to it.
//
// Phi and the derivative are 1/2 plus an odd function of x, here x P(x^2) with a minimax polynomial
// P (bench/gelu_fit.py). Farther out than `end` they are 0 or 1 up to 1e-7. Errors are absolute, as
// those of PyTorch's 0.5 (1 + erf) are: gelu_test has the bounds.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/gelu.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "backend/cpu/kernels/any_precision.h"
#include "backend/cpu/kernels/chunks.h"
#include "backend/cpu/kernels/fast_kernels.h"
#include "backend/cpu/kernels/float16-inl.h"
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

// The terms of P for each form: GELU's factor Phi, and the slope.
struct ErfForm {
  static constexpr float kGeluEnd = 5.4f;
  static constexpr float kGeluTerms[] = {
      1.309281126e-01f,  -6.532805485e-02f, 4.849959148e-02f,  -3.920681398e-02f, 3.211659553e-02f,
      -2.574644792e-02f, 1.964513800e-02f,  -1.396335918e-02f, 9.651229695e-03f,  -6.715258651e-03f,
      3.658845032e-03f,  -1.186487462e-03f, 8.750127576e-04f,  -1.028340502e-03f, 3.928289513e-04f};
  static constexpr float kSlopeEnd = 5.9f;
  static constexpr float kSlopeTerms[] = {
      1.199112891e-01f,  -6.046619461e-02f, 4.728137358e-02f,  -4.417695777e-02f, 4.726051396e-02f,
      -5.418830816e-02f, 6.161403632e-02f,  -6.758005358e-02f, 7.029729511e-02f,  -6.178870340e-02f,
      4.402925043e-02f,  -3.968184845e-02f, 4.259220700e-02f,  -2.154827328e-02f, -1.793720087e-03f,
      -2.989564352e-03f, 1.012277755e-02f,  -4.149353266e-03f};
};
struct TanhForm {
  static constexpr float kGeluEnd = 5.0f;
  static constexpr float kGeluTerms[] = {
      1.413785411e-01f, -7.036594538e-02f, 5.165398138e-02f,  -4.053623032e-02f,
      3.140685088e-02f, -2.308660198e-02f, 1.563050613e-02f,  -1.005177095e-02f,
      7.097887353e-03f, -4.301777112e-03f, 4.802022933e-04f,  -2.441802650e-05f,
      2.346662527e-03f, -1.594029571e-03f, -5.233627573e-04f, 4.895025431e-04f};
  static constexpr float kSlopeEnd = 5.4f;
  static constexpr float kSlopeTerms[] = {
      1.311350913e-01f,  -6.703985535e-02f, 5.539123367e-02f,  -5.719354091e-02f, 6.632808665e-02f,
      -7.583864227e-02f, 7.753235996e-02f,  -7.173210037e-02f, 6.813563183e-02f,  -4.934567529e-02f,
      -2.401663652e-03f, 4.906388428e-04f,  8.463754015e-02f,  -5.700042596e-02f, -8.171236746e-02f,
      5.635858423e-02f,  6.429183808e-02f,  -4.488524478e-02f, -1.809890843e-02f, 1.354004215e-02f};
};

template <class Form, class D, class V = hn::Vec<D>>
HWY_INLINE V gelu_of(D d, V x) {
  const V inside = hn::Mul(x, half_plus_odd(d, x, Form::kGeluEnd, Form::kGeluTerms));
  return hn::IfThenElse(beyond(d, x, Form::kGeluEnd), hn::Max(x, hn::Zero(d)), inside);
}

template <class Form, class D, class V = hn::Vec<D>>
HWY_INLINE V slope_of(D d, V x) {
  const V step = hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), hn::Set(d, 1.0f));
  return hn::IfThenElse(beyond(d, x, Form::kSlopeEnd), step,
                        half_plus_odd(d, x, Form::kSlopeEnd, Form::kSlopeTerms));
}

template <class Form, class X>
HWY_INLINE void gelu_in(const GeluOn<X>& op, std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d);
  for (std::int64_t i = begin; i < end; i += lanes) {
    store_upto(gelu_of<Form>(d, load_upto(d, op.x + i, end - i)), d, op.y + i, end - i);
  }
}

template <class Form, class X>
HWY_INLINE void gelu_backward_in(const GeluBackwardOn<X>& op, std::int64_t begin,
                                 std::int64_t end) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d);
  for (std::int64_t i = begin; i < end; i += lanes) {
    const auto slope = slope_of<Form>(d, load_upto(d, op.x + i, end - i));
    store_upto(hn::Mul(load_upto(d, op.dy + i, end - i), slope), d, op.dy + i, end - i);
  }
}

// Elements [begin, end).
void gelu_range(AnyPrecision<GeluOn> any, std::int64_t begin, std::int64_t end) {
  std::visit(
      [&](const auto* op) HWY_ATTR {
        op->form == GeluForm::kTanh ? gelu_in<TanhForm>(*op, begin, end)
                                    : gelu_in<ErfForm>(*op, begin, end);
      },
      any);
}
void gelu_backward_range(AnyPrecision<GeluBackwardOn> any, std::int64_t begin, std::int64_t end) {
  std::visit(
      [&](const auto* op) HWY_ATTR {
        op->form == GeluForm::kTanh ? gelu_backward_in<TanhForm>(*op, begin, end)
                                    : gelu_backward_in<ErfForm>(*op, begin, end);
      },
      any);
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::cpu {

HWY_EXPORT(gelu_range);
HWY_EXPORT(gelu_backward_range);

template <class X>
void gelu_fast(const GeluOn<X>& op) noexcept {
  for_each_chunk(op.count, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(gelu_range)(&op, begin, end);
  });
}

template <class X>
void gelu_backward_fast(const GeluBackwardOn<X>& op) noexcept {
  for_each_chunk(op.count, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(gelu_backward_range)(&op, begin, end);
  });
}

template void gelu_fast(const GeluOn<float>&) noexcept;
template void gelu_fast(const GeluOn<Bf16>&) noexcept;
template void gelu_fast(const GeluOn<F16>&) noexcept;
template void gelu_backward_fast(const GeluBackwardOn<float>&) noexcept;
template void gelu_backward_fast(const GeluBackwardOn<Bf16>&) noexcept;
template void gelu_backward_fast(const GeluBackwardOn<F16>&) noexcept;

}  // namespace snug::cpu
#endif  // HWY_ONCE
