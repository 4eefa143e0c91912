// The contract of every kernel that runs on a card: what it reads, writes and promises. Each
// function starts its work on a stream and returns; pointers are to the card's memory.
//
// Promises that hold for every kernel:
//  - Sums go in a fixed order (no atomics on floats): the same call gives the same bits.
//  - A row's or a sequence's result does not depend on what else is in the batch. Sums over rows
//    (the gradients of norms and biases) depend on how many rows a call has.
//  - Arithmetic is float32 whatever the operands are; results are rounded once, to the nearest.
//
// Shapes: B sequences, T positions, C channels, H heads, D = C / H, V vocabulary. Row-major, dense.
// `dtype` is the precision of activations and matrices: float32, bfloat16 or float16.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "backend/cuda/limits.h"
#include "base/dtype.h"
#include "base/gelu_form.h"

namespace snug::cuda {

// Where a dropout mask comes from: the same counters as on the CPU (backend/cpu/kernels/kernels.h).
struct Dropout {
  std::uint64_t seed = 0;
  std::uint32_t site = 0, iteration = 0, first_sequence = 0;
  std::uint32_t threshold = 0;  // floor(p * 2^32); 0 means that dropout is off
  float scale = 1.0f;           // 1 / (1 - p)
};

struct Embed {
  DType dtype;
  std::int64_t B, T, C;
  const std::int32_t* tokens;  // (B, T)
  const void *wte, *wpe;       // (V, C), (>= first_position + T, C)
  void* out;                   // (B, T, C) = dropout(wte[token] + wpe[first_position + t])
  std::int64_t first_position;
  Dropout dropout;
};
void embed(const Embed& op, cudaStream_t stream);

// See ops/embedding.h: slots are given in order of first appearance, rows are added to token by
// token in order, dwpe sequence by sequence.
struct EmbedBackward {
  DType dtype;
  std::int64_t B, T, C;
  const std::int32_t* tokens;
  void* dx;     // (B, T, C), the dropout mask is applied to it in place
  float* dwpe;  // (>= T, C), added to
  float* rows;  // (capacity, C), added to
  std::int64_t capacity;
  std::int32_t *slot, *row_token, *row_count;
  std::int32_t* scratch;  // three times B * T
  Dropout dropout;
};
void embed_backward(const EmbedBackward& op, cudaStream_t stream);

struct MergeEmbedRows {
  std::int64_t capacity, C;  // of rows
  const float* rows;
  const std::int32_t *row_token, *row_count;
  float* dwte;
};
void merge_embed_rows(const MergeEmbedRows& op, cudaStream_t stream);

// y = norm(x) and its statistics. With `branch`, x = residual + dropout(branch) is made and stored
// first, in the same pass.
struct LayerNorm {
  DType dtype;
  std::int64_t B, T, C;
  const void* x;              // null where there is a branch
  const float *gamma, *beta;  // beta may be null
  void* y;
  float *mean, *rstd;  // (B, T); 1 / sqrt(var + 1e-5)
  const void *residual, *branch;
  void* sum;  // residual + dropout(branch); may be either of them
  Dropout dropout;
};
void layernorm(const LayerNorm& op, cudaStream_t stream);
// The same y from the statistics, which are read.
void layernorm_apply(const LayerNorm& op, cudaStream_t stream);

struct LayerNormBackward {
  DType dtype;
  std::int64_t rows, C;
  const void *dy, *x;
  const float *gamma, *mean, *rstd;
  void* dx;               // added to: the residual stream's gradient
  float *dgamma, *dbeta;  // added to; dbeta may be null
  float* scratch;         // kReductionBlocks * 2 * C
};
void layernorm_backward(const LayerNormBackward& op, cudaStream_t stream);

struct BiasBackward {
  DType dtype;
  std::int64_t rows, N;
  const void* dy;  // (rows, N)
  float* dbias;    // (N), added to
  float* scratch;  // kReductionBlocks * N
};
void bias_backward(const BiasBackward& op, cudaStream_t stream);

// The bias in every row, for a product that is added to it.
struct SpreadBias {
  DType dtype;
  std::int64_t rows, N;
  const float* bias;  // (N)
  void* y;            // (rows, N), written: the bias to the nearest
};
void spread_bias(const SpreadBias& op, cudaStream_t stream);

struct Gelu {
  DType dtype;
  GeluForm form;
  std::int64_t count;
  const void* x;
  void* y;  // may be x
};
void gelu(const Gelu& op, cudaStream_t stream);

struct GeluBackward {
  DType dtype;
  GeluForm form;
  std::int64_t count;
  const void* x;
  void* dy;  // in place: dy * gelu'(x)
};
void gelu_backward(const GeluBackward& op, cudaStream_t stream);

struct ResidualAdd {
  DType dtype;
  std::int64_t B, T, C;
  const void *residual, *branch;
  void* out;  // residual + dropout(branch); may alias either input
  Dropout dropout;
};
void residual_add(const ResidualAdd& op, cudaStream_t stream);

struct DropoutBackward {
  DType dtype;
  std::int64_t B, T, C;
  const void* dout;
  void* din;  // mask * scale * dout; may alias dout
  Dropout dropout;
};
void dropout_backward(const DropoutBackward& op, cudaStream_t stream);

// float32 to a 16-bit type, to the nearest.
void cast(DType to, const float* x, void* y, std::int64_t count, cudaStream_t stream);

// A target of -1 gives loss 0 and gradient 0.
struct CrossEntropy {
  DType dtype;
  std::int64_t rows, V;
  const std::int32_t* targets;  // (rows)
  void* logits;                 // (rows, V); becomes gradient_factor (softmax - onehot)
  float* losses;                // (rows)
  bool want_gradient;
  float gradient_factor;  // float16's loss scale; 1 otherwise
};
void cross_entropy(const CrossEntropy& op, cudaStream_t stream);

// What a card's tensor cores multiply at once: Turing (sm_75) knows float16 only, eight terms at a
// time.
enum class TensorCores : std::uint8_t { kTuring, kAmpere };

struct Attention {
  DType dtype;
  TensorCores tensor_cores;
  std::int64_t B, T, C, H;  // D up to kMaxHead
  const void* qkv;          // (B, T, 3C)
  void* out;                // (B, T, C)
  float* lse;               // (B, H, T), may be null
  Dropout dropout;
};
void attention(const Attention& op, cudaStream_t stream);

struct AttentionBackward {
  DType dtype;
  TensorCores tensor_cores;
  std::int64_t B, T, C, H;
  const void *qkv, *out;
  const float* lse;
  const void* dout;
  void* dqkv;      // (B, T, 3C), written
  float* scratch;  // (B, H, T)
  Dropout dropout;
};
void attention_backward(const AttentionBackward& op, cudaStream_t stream);

// One new position against a cache; row `position` of the caches is written first.
struct AttentionDecode {
  DType dtype;
  std::int64_t C, H, position, window;
  const void* qkv;  // (3C)
  void *keys, *values, *out;
  float* scratch;  // (H, window)
};
void attention_decode(const AttentionDecode& op, cudaStream_t stream);

// Keys and values of T rows into the cache.
struct KvStore {
  DType dtype;
  std::int64_t T, C;
  const void* qkv;
  void *keys, *values;
};
void kv_store(const KvStore& op, cudaStream_t stream);

// A list of arrays of floats, few enough to go with a launch.
struct FloatArrays {
  static constexpr int kMax = 64;
  const float* data[kMax];
  std::int64_t count[kMax];
  int size = 0;
};
// Adds the squares of all elements to kReductionBlocks doubles, or starts them.
void add_squares(const FloatArrays& arrays, double* partial, bool first, cudaStream_t stream);
// norm = factor * sqrt(sum of the doubles).
void finish_norm(const double* partial, double factor, double* norm, cudaStream_t stream);

// PyTorch's AdamW, as on the CPU. Nothing changes when the norm is not finite; clipping is by the
// norm that lies on the card, so that nobody waits for it.
struct AdamW {
  DType moments;  // float32, or bfloat16 rounded stochastically
  DType copy_dtype;
  std::int64_t count;
  float* weights;
  const float* gradients;
  void *m, *v;
  void* copy;          // the weight in copy_dtype; may be null
  const double* norm;  // of the scaled gradients
  double gradient_scale, gradient_clip;
  double learning_rate, beta1, beta2, epsilon, weight_decay, correction1, correction2;
  std::uint64_t seed;
  std::uint32_t parameter, iteration;
};
void adamw(const AdamW& op, cudaStream_t stream);

}  // namespace snug::cuda
