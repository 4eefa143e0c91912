// Dropout on attention's probabilities: element (h T + i) round_up(T, 4) + j of the site belongs to
// query i and key j of head h. A Philox block covers four neighbouring keys of one query.
#pragma once

#include "backend/cuda/kernels/philox.cuh"

namespace snug::cuda {

// One head of one sequence.
struct HeadDropout {
  Dropout dropout;
  unsigned sequence;
  unsigned first_row;  // h T
  unsigned groups;     // of four keys: round_up(T, 4) / 4

  __device__ __forceinline__ bool is_on() const { return dropout.threshold != 0; }
  // The words of keys 4 * (j / 4) to 4 * (j / 4) + 3 of query i.
  __device__ __forceinline__ uint4 words(int i, int j) const {
    return dropout_words(
        dropout, sequence,
        (first_row + static_cast<unsigned>(i)) * groups + static_cast<unsigned>(j) / 4);
  }
  __device__ __forceinline__ float factor(unsigned word) const {
    return keep_factor(dropout, word);
  }
};

__device__ __forceinline__ HeadDropout head_dropout(const Dropout& dropout, unsigned b, unsigned h,
                                                    int T) {
  const auto length = static_cast<unsigned>(T);
  return {dropout, b, h * length, (length + 3) / 4};
}

// The factors of a thread's four elements of a 16 x 8 fragment whose rows are queries: (i, j),
// (i, j + 1), (i + 8, j), (i + 8, j + 1) with j = j0 + 2 (lane % 4). Two lanes share their groups
// of keys: each makes one row's words and hands half of them over.
__device__ __forceinline__ void query_row_factors(const HeadDropout& dropout, int i, int j,
                                                  float (&factor)[4]) {
  const bool odd = (threadIdx.x & 1) != 0;
  const uint4 mine = dropout.words(odd ? i + 8 : i, j);
  const unsigned given0 = odd ? mine.x : mine.z, given1 = odd ? mine.y : mine.w;
  const unsigned taken0 = __shfl_xor_sync(kAllLanes, given0, 1);
  const unsigned taken1 = __shfl_xor_sync(kAllLanes, given1, 1);
  factor[0] = dropout.factor(odd ? taken0 : mine.x);
  factor[1] = dropout.factor(odd ? taken1 : mine.y);
  factor[2] = dropout.factor(odd ? mine.z : taken0);
  factor[3] = dropout.factor(odd ? mine.w : taken1);
}

// The same for a fragment whose rows are keys: (j, i), (j, i + 1), (j + 8, i), (j + 8, i + 1) with
// j = j0 + lane / 4. Four lanes share four blocks of words: each makes one, and they exchange.
__device__ __forceinline__ void key_row_factors(const HeadDropout& dropout, int i, int j,
                                                float (&factor)[4]) {
  const int own = static_cast<int>(threadIdx.x) / 4 % 4;  // this lane's block, and its word of all
  const uint4 mine = dropout.words(i + (own & 1), j + (own & 2) * 4);
  const uint4 by_distance =
      make_uint4(word_of(mine, own), __shfl_xor_sync(kAllLanes, word_of(mine, own ^ 1), 4),
                 __shfl_xor_sync(kAllLanes, word_of(mine, own ^ 2), 8),
                 __shfl_xor_sync(kAllLanes, word_of(mine, own ^ 3), 12));
#pragma unroll
  for (int block = 0; block < 4; ++block) {
    factor[block] = dropout.factor(word_of(by_distance, block ^ own));
  }
}

}  // namespace snug::cuda
