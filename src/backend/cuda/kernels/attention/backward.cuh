// What both halves of attention's backward share: probabilities again from scores and log-sum-exp,
// and the scores' gradients.
#pragma once

#include "backend/cuda/kernels/attention/problem.cuh"

namespace snug::cuda {

// Tiles of the side that a block walks over: as many rows as registers allow beside the sums.
template <int kD>
constexpr int kWalkedKeys = kD > 64 ? 32 : 64;
template <int kD>
constexpr int kWalkedQueries = kD > 64 ? 16 : 32;
constexpr int kOwned = 64;

// One element: p in, p with its dropout and the score's gradient (without the scale) out.
struct ScoreGradient {
  float dropped, gradient;
};
__device__ __forceinline__ ScoreGradient score_gradient(float score, float dp, float scale_log2,
                                                        float lse_log2, float delta, float factor,
                                                        bool counts) {
  const float p = counts ? exp2f(score * scale_log2 - lse_log2) : 0.0f;
  return {p * factor, p * (dp * factor - delta)};
}

}  // namespace snug::cuda
