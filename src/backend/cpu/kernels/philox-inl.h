// Philox4x32-10 on vectors, bit for bit base/philox.h, and the dropout masks made from it. Shared
// by every kernel with dropout. Two ways in: dropout_multipliers() fills a run of any start and
// length in memory; keep_pair() gives the masks of 2 * Lanes elements in registers.

#if defined(SNUG_BACKEND_CPU_KERNELS_PHILOX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_BACKEND_CPU_KERNELS_PHILOX_INL_H_
#undef SNUG_BACKEND_CPU_KERNELS_PHILOX_INL_H_
#else
#define SNUG_BACKEND_CPU_KERNELS_PHILOX_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernels/kernels.h"
#include "base/philox.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The mask of one site in one sequence; word 0 of the counter, element / 4, is all that varies.
// Made by dropout_stream(), once per sequence.
struct DropoutStream {
  std::uint64_t seed;
  std::uint32_t site, sequence, iteration, threshold;
  float scale;
  // The key words of every round, each in the low half of a lane: a broadcast load costs no
  // arithmetic port, and the rounds are limited by those.
  std::uint64_t round_key0[kPhiloxRounds], round_key1[kPhiloxRounds];
};

// `sequence_in_batch` counts from the batch's first sequence.
HWY_INLINE DropoutStream dropout_stream(const Dropout& dropout, std::int64_t sequence_in_batch) {
  DropoutStream stream;
  stream.seed = dropout.seed;
  stream.site = dropout.site;
  stream.sequence = dropout.first_sequence + static_cast<std::uint32_t>(sequence_in_batch);
  stream.iteration = dropout.iteration;
  stream.threshold = dropout.threshold;
  stream.scale = dropout.scale;
  auto key0 = static_cast<std::uint32_t>(dropout.seed);
  auto key1 = static_cast<std::uint32_t>(dropout.seed >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    stream.round_key0[round] = key0;
    stream.round_key1[round] = key1;
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
  return stream;
}

HWY_INLINE std::uint32_t philox_word(const DropoutStream& stream, std::uint64_t element) {
  const PhiloxBlock words = philox(stream.seed, {static_cast<std::uint32_t>(element / 4),
                                                 stream.site, stream.sequence, stream.iteration});
  return words[element % 4];
}

// Words of 2 * Lanes(D32) consecutive elements from `first_element`, a multiple of 4 (any, with one
// lane): `low` holds the first Lanes of them, `high` the next. D32 is a full-width tag of uint32_t.
//
// A 64-bit lane holds half a block: a = (c0, c1), b = (c2, c3), low word first. A round is then
//   a' = swap_halves(kMul1 * c2) ^ (c1 ^ key0),   b' = swap_halves(kMul0 * c0) ^ (c3 ^ key1)
// with c1 and c3 shifted down: two 32x32->64 products and no word shuffled between lanes.
#if HWY_TARGET != HWY_SCALAR
template <class D32>
HWY_INLINE void philox_pair(D32 d32, const DropoutStream& stream, std::uint64_t first_element,
                            hn::Vec<D32>& low, hn::Vec<D32>& high) {
  const hn::Repartition<std::uint64_t, D32> d64;
  // InterleaveLower/Upper below work inside 128-bit blocks. Giving the even lanes the first half of
  // the blocks and the odd lanes the second half makes both results consecutive.
  const auto lane = hn::Iota(d64, 0);
  const auto odd = hn::And(lane, hn::Set(d64, 1));
  const auto half = hn::Set(d64, hn::Lanes(d64) / 2);
  const auto block = hn::Add(hn::ShiftRight<1>(lane), hn::And(hn::Sub(hn::Zero(d64), odd), half));
  const auto first_block = static_cast<std::uint32_t>(first_element / 4);
  // Added as 32-bit words: word 0 wraps without a carry into word 1, as in philox().
  auto a = hn::BitCast(
      d64, hn::Add(hn::BitCast(d32, block),
                   hn::BitCast(d32, hn::Set(d64, std::uint64_t{stream.site} << 32 | first_block))));
  auto b = hn::Set(d64, std::uint64_t{stream.iteration} << 32 | stream.sequence);
  const auto mul0 = hn::Set(d32, kPhiloxMul0);
  const auto mul1 = hn::Set(d32, kPhiloxMul1);
#pragma GCC unroll 10
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const auto product0 = hn::BitCast(d32, hn::MulEven(hn::BitCast(d32, a), mul0));
    const auto product1 = hn::BitCast(d32, hn::MulEven(hn::BitCast(d32, b), mul1));
    a = hn::Xor3(hn::BitCast(d64, hn::Shuffle2301(product1)), hn::ShiftRight<32>(a),
                 hn::Set(d64, stream.round_key0[round]));
    b = hn::Xor3(hn::BitCast(d64, hn::Shuffle2301(product0)), hn::ShiftRight<32>(b),
                 hn::Set(d64, stream.round_key1[round]));
  }
  low = hn::BitCast(d32, hn::InterleaveLower(d64, a, b));
  high = hn::BitCast(d32, hn::InterleaveUpper(d64, a, b));
}
#else   // one lane: nothing to interleave
template <class D32>
HWY_INLINE void philox_pair(D32 d32, const DropoutStream& stream, std::uint64_t first_element,
                            hn::Vec<D32>& low, hn::Vec<D32>& high) {
  low = hn::Set(d32, philox_word(stream, first_element));
  high = hn::Set(d32, philox_word(stream, first_element + 1));
}
#endif  // HWY_TARGET

// Which of the 2 * Lanes(DF) elements from `first_element` (a multiple of 4) keep their values.
// DF is a full-width tag of float; the kept ones are still to be scaled by stream.scale.
template <class DF>
HWY_INLINE void keep_pair(DF df, const DropoutStream& stream, std::uint64_t first_element,
                          hn::Mask<DF>& keep_low, hn::Mask<DF>& keep_high) {
  const hn::RebindToUnsigned<DF> d32;
  hn::Vec<decltype(d32)> low, high;
  philox_pair(d32, stream, first_element, low, high);
  const auto threshold = hn::Set(d32, stream.threshold);
  // word >= threshold, for which unsigned vectors have no single operation on every target.
  keep_low = hn::RebindMask(df, hn::Eq(hn::Max(low, threshold), low));
  keep_high = hn::RebindMask(df, hn::Eq(hn::Max(high, threshold), high));
}

// out[n] = stream.scale or 0 for elements first_element + n, n < count. Any start, any alignment,
// writes exactly `count` floats. (A threshold of 0 keeps all: callers skip the work instead.)
HWY_INLINE void dropout_multipliers(const DropoutStream& stream, std::uint64_t first_element,
                                    std::size_t count, float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> df;
  const std::size_t lanes = hn::Lanes(df);
  const auto scale = hn::Set(df, stream.scale);
  hn::Mask<decltype(df)> keep_low, keep_high;
  std::size_t n = 0;
  for (; n < count && (first_element + n) % 4 != 0; ++n) {
    out[n] = philox_word(stream, first_element + n) >= stream.threshold ? stream.scale : 0.0f;
  }
  for (; n + 2 * lanes <= count; n += 2 * lanes) {
    keep_pair(df, stream, first_element + n, keep_low, keep_high);
    hn::StoreU(hn::IfThenElseZero(keep_low, scale), df, out + n);
    hn::StoreU(hn::IfThenElseZero(keep_high, scale), df, out + n + lanes);
  }
  if (n < count) {
    HWY_ALIGN float rest[2 * HWY_MAX_BYTES / sizeof(float)];
    keep_pair(df, stream, first_element + n, keep_low, keep_high);
    hn::Store(hn::IfThenElseZero(keep_low, scale), df, rest);
    hn::Store(hn::IfThenElseZero(keep_high, scale), df, rest + lanes);
    for (std::size_t r = 0; n < count; ++n, ++r) out[n] = rest[r];
  }
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SNUG_BACKEND_CPU_KERNELS_PHILOX_INL_H_
