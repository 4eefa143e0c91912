// e^x of vectors of floats for x <= 0, as softmax and GELU need it. Unlike Highway's Exp it lets
// NaN through. Compiled once per instruction set: include it after hwy/foreach_target.h.
#if defined(SNUG_CPU_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_CPU_EXP_INL_H_
#undef SNUG_CPU_EXP_INL_H_
#else
#define SNUG_CPU_EXP_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// e^x for x <= 0, within 1 ulp (measured, with FMA or without); NaN gives NaN; what would be
// subnormal (x < ln 2^-126, -inf included) gives 0. x = q ln 2 + r with |r| <= ln 2 / 2, so
// e^x = 2^q (1 + r + r^2 P(r)).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_of_nonpositive(D d, V x) {
  const hn::RebindToSigned<D> di;
  // Adding 1.5 * 2^23 rounds to an integer and leaves that integer in the low bits.
  const V magic = hn::Set(d, 12582912.0f);
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), magic);
  const V q = hn::Sub(shifted, magic);
  // ln 2 in two parts, the first of 15 bits: its product with q, of 7, is exact without FMA too.
  V r = hn::MulAdd(q, hn::Set(d, -0.693145751953125f), x);
  r = hn::MulAdd(q, hn::Set(d, -1.428606765330187045e-6f), r);
  // Minimax coefficients of (e^r - 1 - r) / r^2, as in Highway's and SLEEF's expf.
  V p = hn::Set(d, 0.000198527617612853646278381f);
  p = hn::MulAdd(p, r, hn::Set(d, 0.00139304355252534151077271f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.00833336077630519866943359f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.0416664853692054748535156f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.166666671633720397949219f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5f));
  p = hn::Add(hn::MulAdd(p, hn::Mul(r, r), r), hn::Set(d, 1.0f));
  // 2^q, q in [-126, 0]: the magic number's own bits leave through the top of the shift.
  const auto power = hn::ShiftLeft<23>(hn::Add(hn::BitCast(di, shifted), hn::Set(di, 127)));
  const V y = hn::Mul(p, hn::BitCast(d, power));
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, -87.33654f)), hn::Zero(d), y);
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
