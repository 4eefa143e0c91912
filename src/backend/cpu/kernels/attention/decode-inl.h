// Attention's decode step for one target: one new query against the cached keys and values. Bound
// by reading the cache once, so plain dot products instead of tiles.

#if defined(SNUG_BACKEND_CPU_KERNELS_ATTENTION_DECODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_BACKEND_CPU_KERNELS_ATTENTION_DECODE_INL_H_
#undef SNUG_BACKEND_CPU_KERNELS_ATTENTION_DECODE_INL_H_
#else
#define SNUG_BACKEND_CPU_KERNELS_ATTENTION_DECODE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "backend/cpu/kernels/any_precision.h"
#include "backend/cpu/kernels/attention/tiles-inl.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/task_shares.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

// kVectors vectors of the result from column `n` on. All in one pass: a row of the values is a few
// lines of the cache, and the sums of its vectors do not wait for each other.
template <int kVectors, class X>
HWY_INLINE void decode_values(const AttentionDecodeOn<X>& a, std::int64_t n, const float* scores,
                              float inverse) {
  const FloatTag d;
  FloatVec sums[kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kVectors; ++i) sums[i] = hn::Zero(d);
  const X* value = a.values + n;
  for (std::int64_t j = 0; j <= a.position; ++j, value += a.C) {
    const FloatVec score = hn::Set(d, scores[j]);
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) {
      sums[i] = hn::MulAdd(score, load_wide(d, value + i * kLanes), sums[i]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kVectors; ++i) {
    store_narrow(hn::Mul(sums[i], hn::Set(d, inverse)), d, a.out + n + i * kLanes);
  }
}

// One head of the decode step; scores has room for position + 1 floats.
template <class X>
HWY_INLINE void decode_head(const AttentionDecodeOn<X>& a, std::int64_t h,
                            float* HWY_RESTRICT scores) {
  const FloatTag d;
  const std::int64_t C = a.C, D = C / a.H, keys = a.position + 1;
  const auto scale = static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(D)));
  float top = -std::numeric_limits<float>::infinity();
  for (std::int64_t j = 0; j < keys; ++j) {
    scores[j] = scale * dot_row(a.qkv + h * D, a.keys + j * C + h * D, D);
    top = std::max(top, scores[j]);
  }
  FloatVec totals = hn::Zero(d);
  for (std::int64_t j = 0; j < keys; j += kLanes) {
    HWY_ALIGN float lanes[kLanes];
    const std::int64_t count = std::min(kLanes, keys - j);
    for (std::int64_t n = 0; n < kLanes; ++n)
      lanes[n] = n < count ? scores[j + n] - top : -std::numeric_limits<float>::infinity();
    const FloatVec p = exp2_vector(hn::Load(d, lanes));
    totals = hn::Add(totals, p);
    hn::Store(p, d, lanes);
    std::copy_n(lanes, count, scores + j);
  }
  const float inverse = 1.0f / hn::GetLane(hn::SumOfLanes(d, totals));
  std::int64_t n = 0;
  constexpr int kMany = 8;  // vectors of GPT-2's heads with AVX2
  for (; n + kMany * kLanes <= D; n += kMany * kLanes) {
    decode_values<kMany>(a, h * D + n, scores, inverse);
  }
  for (; n + kLanes <= D; n += kLanes) decode_values<1>(a, h * D + n, scores, inverse);
  for (; n < D; ++n) {
    float sum = 0.0f;
    for (std::int64_t j = 0; j < keys; ++j)
      sum += scores[j] * to_float(a.values[j * C + h * D + n]);
    a.out[h * D + n] = nearest<X>(sum * inverse);
  }
}

template <class X>
HWY_INLINE void attention_decode_of(const AttentionDecodeOn<X>& a) {
  std::copy_n(a.qkv + a.C, a.C, a.keys + a.position * a.C);
  std::copy_n(a.qkv + 2 * a.C, a.C, a.values + a.position * a.C);
  // Waking the team costs some 5 us, about what one core needs for 2^16 cached floats.
  const bool worthwhile = (a.position + 1) * a.C >= std::int64_t{1} << 16;
  const auto head = [&](std::int64_t h) { decode_head(a, h, a.scratch + h * (a.position + 1)); };
  if (!worthwhile) {
    for (std::int64_t h = 0; h < a.H; ++h) head(h);
    return;
  }
  share_tasks(a.H, head);
}

void attention_decode_target(AnyPrecision<AttentionDecodeOn> any) {
  std::visit([](const auto* a) HWY_ATTR { attention_decode_of(*a); }, any);
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SNUG_BACKEND_CPU_KERNELS_ATTENTION_DECODE_INL_H_
