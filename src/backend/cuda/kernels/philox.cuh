// Philox on the card: the numbers of base/philox.h, and dropout by them. Element e of a site keeps
// its value when word e % 4 of the block at e / 4 is not below the threshold.
#pragma once

#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/numbers.cuh"
#include "base/philox.h"

namespace snug::cuda {

__device__ __forceinline__ uint4 philox_words(std::uint64_t key, uint4 counter) {
  unsigned key0 = static_cast<unsigned>(key), key1 = static_cast<unsigned>(key >> 32);
#pragma unroll
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const unsigned high0 = __umulhi(kPhiloxMul0, counter.x), low0 = kPhiloxMul0 * counter.x;
    const unsigned high1 = __umulhi(kPhiloxMul1, counter.z), low1 = kPhiloxMul1 * counter.z;
    counter = make_uint4(high1 ^ counter.y ^ key0, low1, high0 ^ counter.w ^ key1, low0);
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
  return counter;
}

__device__ __forceinline__ unsigned word_of(uint4 words, int index) {
  return index == 0 ? words.x : index == 1 ? words.y : index == 2 ? words.z : words.w;
}

// The four words of elements 4 * block to 4 * block + 3.
__device__ __forceinline__ uint4 dropout_words(const Dropout& dropout, unsigned sequence,
                                               unsigned block) {
  return philox_words(
      dropout.seed,
      make_uint4(block, dropout.site, dropout.first_sequence + sequence, dropout.iteration));
}

__device__ __forceinline__ float keep_factor(const Dropout& dropout, unsigned word) {
  return word >= dropout.threshold ? dropout.scale : 0.0f;
}

// x[i] *= the factor of element `first` + i of the sequence; for kWidth > 1 `first` is a multiple
// of 4.
template <int kWidth>
__device__ __forceinline__ void apply_dropout(const Dropout& dropout, unsigned sequence,
                                              std::int64_t first, float (&x)[kWidth]) {
  if (dropout.threshold == 0) return;
  if constexpr (kWidth == 1) {
    const uint4 words = dropout_words(dropout, sequence, static_cast<unsigned>(first / 4));
    x[0] *= keep_factor(dropout, word_of(words, static_cast<int>(first % 4)));
  } else {
#pragma unroll
    for (int i = 0; i < kWidth; i += 4) {
      const uint4 words =
          dropout_words(dropout, sequence, static_cast<unsigned>(first / 4) + i / 4);
      x[i] *= keep_factor(dropout, words.x);
      x[i + 1] *= keep_factor(dropout, words.y);
      x[i + 2] *= keep_factor(dropout, words.z);
      x[i + 3] *= keep_factor(dropout, words.w);
    }
  }
}

}  // namespace snug::cuda
