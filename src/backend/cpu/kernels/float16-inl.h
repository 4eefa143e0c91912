// Loads and stores of activations, float or 16 bits wide, as vectors of float: bit for bit
// base/float16.h (a NaN stays one, with other bits). Compiled once per instruction set: include it
// after hwy/foreach_target.h.
#if defined(SNUG_CPU_FLOAT16_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_CPU_FLOAT16_INL_H_
#undef SNUG_CPU_FLOAT16_INL_H_
#else
#define SNUG_CPU_FLOAT16_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "backend/cpu/kernels/vectors-inl.h"
#include "base/float16.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One vector of floats from or to as many elements, at any address.
template <class D>
HWY_INLINE hn::Vec<D> load_wide(D d, const float* p) {
  return hn::LoadU(d, p);
}
template <class D>
HWY_INLINE void store_narrow(hn::Vec<D> v, D d, float* p) {
  hn::StoreU(v, d, p);
}

template <class D>
HWY_INLINE hn::Vec<D> load_wide(D d, const Bf16* p) {
  const hn::Rebind<std::uint16_t, D> d16;
  const hn::RebindToUnsigned<D> d32;
  const auto bits = hn::LoadU(d16, reinterpret_cast<const std::uint16_t*>(p));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, bits)));
}
template <class D>
HWY_INLINE void store_narrow(hn::Vec<D> v, D /*d*/, Bf16* p) {
  const hn::Rebind<std::uint16_t, D> d16;
  const hn::RebindToUnsigned<D> d32;
  const auto bits = hn::BitCast(d32, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1));
  const auto nearest = hn::Add(bits, hn::Add(odd, hn::Set(d32, 0x7fff)));
  const auto quiet = hn::Or(bits, hn::Set(d32, 0x400000));
  const auto kept = hn::IfThenElse(hn::RebindMask(d32, hn::IsNaN(v)), quiet, nearest);
  hn::StoreU(hn::TruncateTo(d16, hn::ShiftRight<16>(kept)), d16,
             reinterpret_cast<std::uint16_t*>(p));
}

#if HWY_TARGET <= HWY_AVX2  // they have the conversions
template <class D>
HWY_INLINE hn::Vec<D> load_wide(D d, const F16* p) {
  const hn::Rebind<hwy::float16_t, D> d16;
  return hn::PromoteTo(d, hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(p)));
}
template <class D>
HWY_INLINE void store_narrow(hn::Vec<D> v, D /*d*/, F16* p) {
  const hn::Rebind<hwy::float16_t, D> d16;
  hn::StoreU(hn::DemoteTo(d16, v), d16, reinterpret_cast<hwy::float16_t*>(p));
}
#else
template <class D>
HWY_INLINE hn::Vec<D> load_wide(D d, const F16* p) {
  HWY_ALIGN float wide[hn::MaxLanes(d)];
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) wide[i] = to_float(p[i]);
  return hn::Load(d, wide);
}
template <class D>
HWY_INLINE void store_narrow(hn::Vec<D> v, D d, F16* p) {
  HWY_ALIGN float wide[hn::MaxLanes(d)];
  hn::Store(v, d, wide);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) p[i] = nearest<F16>(wide[i]);
}
#endif

// As load_upto and store_upto of floats: nothing beyond `count` elements is read or written.
template <class D, class X>
HWY_INLINE hn::Vec<D> load_activation_upto(D d, const X* p, std::int64_t count, float fill = 0.0f) {
  if (HWY_LIKELY(count >= lane_count(d))) return load_wide(d, p);
  HWY_ALIGN X padded[hn::MaxLanes(d)];
  for (X& x : padded) x = nearest<X>(fill);
  std::memcpy(padded, p, static_cast<std::size_t>(count) * sizeof(X));
  return load_wide(d, padded);
}
template <class D, class X>
HWY_INLINE void store_activation_upto(hn::Vec<D> v, D d, X* p, std::int64_t count) {
  if (HWY_LIKELY(count >= lane_count(d))) {
    store_narrow(v, d, p);
    return;
  }
  HWY_ALIGN X padded[hn::MaxLanes(d)];
  store_narrow(v, d, padded);
  std::memcpy(p, padded, static_cast<std::size_t>(count) * sizeof(X));
}

template <class D>
HWY_INLINE hn::Vec<D> load_upto(D d, const Bf16* p, std::int64_t count, float fill = 0.0f) {
  return load_activation_upto(d, p, count, fill);
}
template <class D>
HWY_INLINE hn::Vec<D> load_upto(D d, const F16* p, std::int64_t count, float fill = 0.0f) {
  return load_activation_upto(d, p, count, fill);
}
template <class D>
HWY_INLINE void store_upto(hn::Vec<D> v, D d, Bf16* p, std::int64_t count) {
  store_activation_upto(v, d, p, count);
}
template <class D>
HWY_INLINE void store_upto(hn::Vec<D> v, D d, F16* p, std::int64_t count) {
  store_activation_upto(v, d, p, count);
}

// acc[i] += row[i], as add_to of floats.
template <class X>
HWY_INLINE void add_to(float* acc, const X* row, std::int64_t count) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d);
  for (std::int64_t i = 0, rest = count; rest > 0; i += lanes, rest -= lanes) {
    store_upto(hn::Add(load_upto(d, acc + i, rest), load_upto(d, row + i, rest)), d, acc + i, rest);
  }
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
