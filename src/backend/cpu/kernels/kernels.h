// The contract of every CPU kernel: what it reads, writes and promises. Two tables implement it:
// reference_kernels() is plain, serial and stays as the oracle; fast_kernels() is vectorised with
// Highway (instruction set chosen at run time) and threaded with OpenMP.
//
// Promises that hold for every kernel:
//  - No allocation, no exceptions. Scratch comes from the caller.
//  - Same bits for a sequence whatever else is in the batch: a row's or a sequence's result never
//    depends on B, on its place in the batch, on pointer alignment or on the thread count.
//  - Parameter gradients are added to what is there, one sequence after the other in order, each
//    sequence reduced in one fixed order: splitting a batch cannot change a bit.
//  - Activations are X: float, or 16 bits wide. 16-bit operands are widened, all arithmetic and all
//    sums are float, and an element is rounded once, to the nearest, where it is stored. What is
//    called float below is float in every precision.
//
// Shapes: B sequences, T positions, C channels, H heads, D = C / H, V vocabulary. Row-major, dense.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend/cpu/scratch.h"
#include "base/float16.h"
#include "base/gelu_form.h"

namespace snug::cpu {

// Where a dropout mask comes from: element e of a site keeps its value when word e % 4 of
// philox(seed, {e / 4, site, sequence, iteration}) >= threshold; kept values are scaled.
// Elements are numbered within a sequence: t * C + c for (T, C) activations, and
// (h * T + i) * round_up(T, 4) + j for attention probabilities (query i, key j).
struct Dropout {
  std::uint64_t seed = 0;
  std::uint32_t site = 0;  // RandomPurpose::kDropout + 4 * layer + place
  std::uint32_t iteration = 0;
  std::uint32_t first_sequence = 0;  // number of the batch's sequence 0 within the iteration
  std::uint32_t threshold = 0;       // floor(p * 2^32); 0 means that dropout is off
  float scale = 1.0f;                // 1 / (1 - p)
};

template <class X>
struct EmbedOn {
  std::int64_t B, T, C;
  const std::int32_t* tokens;  // (B, T)
  const X* wte;                // (V, C)
  const X* wpe;                // (>= first_position + T, C)
  X* out;                      // (B, T, C) = dropout(wte[token] + wpe[first_position + t])
  std::int64_t first_position = 0;
  Dropout dropout;
};
using Embed = EmbedOn<float>;

// Gradient of Embed. wte's share goes to a compact table of the tokens that the iteration has seen,
// because the loss head adds to wte's dense gradient in another order: row r of `rows` belongs to
// the token with slot[token] == r; tokens get slots in order of first appearance.
template <class X>
struct EmbedBackwardOn {
  std::int64_t B, T, C;
  const std::int32_t* tokens;  // (B, T)
  X* dout;                     // (B, T, C), the dropout mask is applied to it in place
  float* dwpe;                 // (block_size, C), added to, sequence by sequence
  float* rows;                 // (row_capacity, C), added to, token by token in order
  std::int32_t* slot;          // (V), -1 = no slot yet
  std::int32_t* row_token;     // (row_capacity), the token of each used row
  std::int32_t* row_count;     // (1), rows in use; never exceeds min(V, tokens per iteration)
  Dropout dropout;
};
using EmbedBackward = EmbedBackwardOn<float>;

template <class X>
struct LayerNormOn {
  std::int64_t rows, C;
  const X* x;
  const float* gamma;
  const float* beta;  // may be null
  X* y;
  float* mean;  // (rows), written by layernorm_forward, read by layernorm_apply
  float* rstd;  // (rows), 1 / sqrt(var + 1e-5), biased variance
};
using LayerNorm = LayerNormOn<float>;

template <class X>
struct LayerNormBackwardOn {
  std::int64_t B, T, C;
  const X* dy;  // (B, T, C)
  const X* x;   // (B, T, C)
  const float* gamma;
  const float* mean;
  const float* rstd;
  X* dx;          // (B, T, C), added to: the residual stream's gradient
  float* dgamma;  // (C), added to
  float* dbeta;   // (C), added to; may be null
  float* sums;    // layernorm_backward_scratch_bytes()
};
using LayerNormBackward = LayerNormBackwardOn<float>;

template <class X>
struct GeluOn {
  std::int64_t count;
  const X* x;
  X* y;
  GeluForm form = GeluForm::kErf;
};
using Gelu = GeluOn<float>;

template <class X>
struct GeluBackwardOn {
  std::int64_t count;
  const X* x;
  X* dy;  // in place: dy * gelu'(x)
  GeluForm form = GeluForm::kErf;
};
using GeluBackward = GeluBackwardOn<float>;

template <class X>
struct ResidualAddOn {
  std::int64_t B, T, C;
  const X* residual;  // (B, T, C)
  const X* branch;    // (B, T, C)
  X* out;             // residual + dropout(branch); may alias either input
  Dropout dropout;
};
using ResidualAdd = ResidualAddOn<float>;

template <class X>
struct DropoutBackwardOn {
  std::int64_t B, T, C;
  const X* dout;
  X* din;  // mask * scale * dout; may alias dout
  Dropout dropout;
};
using DropoutBackward = DropoutBackwardOn<float>;

template <class X>
struct BiasBackwardOn {
  std::int64_t B, T, N;
  const X* dy;   // (B, T, N)
  float* dbias;  // (N), added to
};
using BiasBackward = BiasBackwardOn<float>;

// Causal attention over the fused projection, softmax scale 1 / sqrt(D). Never holds T x T.
template <class X>
struct AttentionOn {
  std::int64_t B, T, C, H;
  const X* qkv;     // (B, T, 3C): q, k, v one after the other, heads within each
  X* out;           // (B, T, C)
  float* lse;       // (B, H, T), log of the sum of exp(scaled scores); may be null (evaluation)
  Scratch scratch;  // attention_scratch_bytes()
  Dropout dropout;
};
using Attention = AttentionOn<float>;

template <class X>
struct AttentionBackwardOn {
  std::int64_t B, T, C, H;
  const X* qkv;
  const X* out;
  const float* lse;
  const X* dout;    // (B, T, C)
  X* dqkv;          // (B, T, 3C), written
  Scratch scratch;  // attention_backward_scratch_bytes()
  Dropout dropout;
};
using AttentionBackward = AttentionBackwardOn<float>;

// One new position against a cache; row `position` of the caches is written first.
template <class X>
struct AttentionDecodeOn {
  std::int64_t C, H, position;
  const X* qkv;    // (3C)
  X* keys;         // (block_size, C)
  X* values;       // (block_size, C)
  X* out;          // (C)
  float* scratch;  // attention_decode_scratch_bytes()
};
using AttentionDecode = AttentionDecodeOn<float>;

// Softmax cross-entropy over rows of logits. A target of -1 gives loss 0 and gradient 0.
template <class X>
struct CrossEntropyOn {
  std::int64_t rows, V;
  const std::int32_t* targets;  // (rows)
  X* logits;                    // (rows, V); becomes scale (softmax - onehot) when want_gradient
  float* losses;                // (rows)
  bool want_gradient;
  float gradient_scale = 1.0f;  // of the gradient alone
};
using CrossEntropy = CrossEntropyOn<float>;

// PyTorch's AdamW, in its order: w -= lr * wd * w; m = lerp; v = beta2 v + (1 - beta2) g^2;
// w -= lr / correction1 * m / (sqrt(v) / sqrt(correction2) + eps).
template <class Moment>
struct AdamWOn {
  std::int64_t count;
  float* weights;
  const float* gradients;  // summed, not yet scaled
  Moment* m;
  Moment* v;
  float gradient_scale;  // 1 / (sequences * T) times the clip coefficient
  double learning_rate, beta1, beta2, epsilon, weight_decay;
  double correction1, correction2;  // 1 - beta^t
  // The moved weights once more, rounded to the nearest: at most one of the two.
  Bf16* copy_bf16 = nullptr;
  F16* copy_f16 = nullptr;
};

using AdamW = AdamWOn<float>;

// The random bits that round element e of a parameter: word e % 4 of
// philox(seed, {e / 4, RandomPurpose::kRoundMoments, parameter, iteration}), e < 2^34. Its low half
// rounds m, its high half v.
struct MomentRounding {
  std::uint64_t seed = 0;
  std::uint32_t parameter = 0;  // index in ModelSpec::parameters
  std::uint32_t iteration = 0;
};

// m and v hold the bits of bfloat16. They are widened, updated in float as above, and the weight is
// moved by the float m and v; only what is kept for the next update is rounded, by round_to_bf16()
// of bf16.h: stochastically, because an update smaller than half a step, 0.2% to 0.4%, is lost when
// rounding to the nearest. With beta2 = 0.999 v would stop at a fifth to a third of a constant g^2,
// and would never shrink.
struct AdamWBf16 : AdamWOn<std::uint16_t> {
  MomentRounding rounding;
};

// The kernels whose activations are X: float, Bf16 or F16.
template <class X>
struct KernelsOn {
  void (*embed)(const EmbedOn<X>&) noexcept;
  void (*embed_backward)(const EmbedBackwardOn<X>&) noexcept;
  void (*layernorm_forward)(const LayerNormOn<X>&) noexcept;
  void (*layernorm_apply)(const LayerNormOn<X>&) noexcept;  // same y, from the saved mean and rstd
  void (*layernorm_backward)(const LayerNormBackwardOn<X>&) noexcept;
  void (*gelu)(const GeluOn<X>&) noexcept;
  void (*gelu_backward)(const GeluBackwardOn<X>&) noexcept;
  void (*residual_add)(const ResidualAddOn<X>&) noexcept;
  void (*dropout_backward)(const DropoutBackwardOn<X>&) noexcept;
  void (*bias_backward)(const BiasBackwardOn<X>&) noexcept;
  void (*attention)(const AttentionOn<X>&) noexcept;
  void (*attention_backward)(const AttentionBackwardOn<X>&) noexcept;
  void (*attention_decode)(const AttentionDecodeOn<X>&) noexcept;
  void (*cross_entropy)(const CrossEntropyOn<X>&) noexcept;
};

struct KernelTable {
  KernelsOn<float> f32;
  KernelsOn<Bf16> bf16;
  KernelsOn<F16> f16;
  void (*adamw)(const AdamW&) noexcept;
  void (*adamw_bf16)(const AdamWBf16&) noexcept;
  // Sum of squares in double: fixed blocks, their sums added in order. One double of scratch per
  // kSquareBlock elements, rounded up.
  double (*sum_of_squares)(const float* x, std::int64_t count, double* scratch) noexcept;

  template <class X>
  const KernelsOn<X>& on() const {
    if constexpr (std::is_same_v<X, Bf16>) {
      return bf16;
    } else if constexpr (std::is_same_v<X, F16>) {
      return f16;
    } else {
      return f32;
    }
  }
};

constexpr std::int64_t kSquareBlock = 1 << 14;

const KernelTable& fast_kernels();
const KernelTable& reference_kernels();

// A sequence's share of dgamma and dbeta, for each sequence.
constexpr std::int64_t layernorm_backward_scratch_bytes(std::int64_t B, std::int64_t C) {
  return B * 2 * C * static_cast<std::int64_t>(sizeof(float));
}
// A row of scores per head, over the whole cache.
constexpr std::int64_t attention_decode_scratch_bytes(std::int64_t H, std::int64_t window) {
  return H * window * static_cast<std::int64_t>(sizeof(float));
}

// Scratch of the fast attention kernels for `threads` threads (the reference needs no more).
std::int64_t attention_scratch_bytes(std::int64_t T, std::int64_t D, int threads);
std::int64_t attention_backward_scratch_bytes(std::int64_t T, std::int64_t D, int threads);

}  // namespace snug::cpu
