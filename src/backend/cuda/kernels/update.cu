// The update of the weights: the gradients' norm in double, and AdamW.
#include <cmath>

#include "backend/cuda/kernels/block_reduce.cuh"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/philox.cuh"

namespace snug::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    squares_kernel(FloatArrays arrays, double* partial, bool first) {
  SNUG_SHARED(double, slots, [kThreads / kWarp]);
  const std::int64_t start = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  constexpr std::int64_t kStep = static_cast<std::int64_t>(kReductionBlocks) * kThreads;
  double sum = 0;
  for (int a = 0; a < arrays.size; ++a) {
    const float* x = arrays.data[a];
    const std::int64_t count = arrays.count[a], packs = count / kPack<float>;
    for (std::int64_t i = start; i < packs; i += kStep) {
      float value[kPack<float>];
      load_floats(x + i * kPack<float>, value);
#pragma unroll
      for (const float v : value) sum += static_cast<double>(v) * static_cast<double>(v);
    }
    for (std::int64_t i = packs * kPack<float> + start; i < count; i += kStep) {
      sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    }
  }
  const auto add = [](double a, double b) { return a + b; };
  sum = block_reduce<kThreads>(warp_sum(sum), static_cast<double*>(slots), add);
  if (threadIdx.x == 0) partial[blockIdx.x] = first ? sum : partial[blockIdx.x] + sum;
}

__global__ void __launch_bounds__(kReductionBlocks)
    finish_norm_kernel(const double* partial, double factor, double* norm) {
  SNUG_SHARED(double, slots, [kReductionBlocks / kWarp]);
  const auto add = [](double a, double b) { return a + b; };
  const double sum = block_reduce<kReductionBlocks>(warp_sum(partial[threadIdx.x]),
                                                    static_cast<double*>(slots), add);
  if (threadIdx.x == 0) *norm = sqrt(sum) * factor;
}

// AdamW's scalars, made in double and rounded once, as PyTorch passes Python's numbers.
struct Scalars {
  double gradient_scale, gradient_clip;
  float keep, m_weight, v_weight, beta2, epsilon, root_correction2, step;
};

// round_to_bf16() of the CPU's bf16.h: stochastically, never from finite to infinite.
__device__ __forceinline__ __nv_bfloat16 rounded_by(float x, unsigned random16) {
  const unsigned bits = __float_as_uint(x);
  unsigned rounded = (bits + random16) >> 16;
  if ((bits & 0x7fffffffu) >= 0x7f800000u) {
    rounded = (bits >> 16) | ((bits & 0x007fffffu) != 0 ? 0x40u : 0u);
  } else if ((rounded & 0x7fffu) > 0x7f7fu) {
    rounded = bits >> 16;
  }
  return __ushort_as_bfloat16(static_cast<unsigned short>(rounded));
}

template <class T>
struct alignas(4 * sizeof(T)) Four {
  T values[4];
};

// Up to four elements of T, as floats; four at once where there are four.
template <class T>
__device__ __forceinline__ void load_some(const T* p, int count, float (&x)[4]) {
  if (count == 4) {
    if constexpr (sizeof(T) == 4) {
      load_floats(p, x);
    } else {
      const Four<T> four = *reinterpret_cast<const Four<T>*>(p);
#pragma unroll
      for (int k = 0; k < 4; ++k) x[k] = to_float(four.values[k]);
    }
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (k < count) x[k] = to_float(p[k]);
  }
}

template <class T>
__device__ __forceinline__ void store_some(T* p, int count, const T (&x)[4]) {
  if (count == 4) {
    if constexpr (sizeof(T) == 4) {
      store_floats(p, x);
    } else {
      Four<T> four;
#pragma unroll
      for (int k = 0; k < 4; ++k) four.values[k] = x[k];
      *reinterpret_cast<Four<T>*>(p) = four;
    }
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (k < count) p[k] = x[k];
  }
}

// A moment as it is kept.
template <class Moment>
__device__ __forceinline__ Moment kept(float x, unsigned random16) {
  if constexpr (sizeof(Moment) == 2) {
    return rounded_by(x, random16);
  } else {
    return x;
  }
}

// One element, all in registers.
struct Element {
  float w, m, v;
};
__device__ __forceinline__ void update(Element& e, float gradient, const Scalars& s) {
  e.m = fmaf(gradient - e.m, s.m_weight, e.m);
  e.v = fmaf(s.v_weight * gradient, gradient, e.v * s.beta2);
  const float denominator = sqrtf(e.v) / s.root_correction2 + s.epsilon;
  e.w = fmaf(e.w, s.keep, -(s.step * e.m / denominator));
}

template <class Moment, class Copy>
struct AdamWArguments {
  std::int64_t count;
  float* weights;
  const float* gradients;
  Moment *m, *v;
  Copy* copy;
  const double* norm;
  Scalars scalars;
  std::uint64_t seed;
  unsigned parameter, iteration;
};

// What gradients are multiplied by, clipped as torch.nn.utils.clip_grad_norm_ does it. NaN where
// the norm, which is the overflow flag, is infinite or NaN.
__device__ __forceinline__ float scale_of(double norm, const Scalars& s) {
  if (!(norm < static_cast<double>(INFINITY))) return NAN;
  const double clip = s.gradient_clip > 0 ? fmin(1.0, s.gradient_clip / (norm + 1e-6)) : 1.0;
  return static_cast<float>(s.gradient_scale * clip);
}

// Four elements per thread. One thread of a block makes the scale: a GeForce card has two units for
// doubles per multiprocessor, and a division in every thread would keep them busy for two fifths of
// the time that the block's memory takes.
template <class Moment, class Copy>
__global__ void __launch_bounds__(kThreads) adamw_kernel(AdamWArguments<Moment, Copy> op) {
  SNUG_SHARED(float, scale_of_block, );
  const Scalars& s = op.scalars;
  if (threadIdx.x == 0) scale_of_block = scale_of(*op.norm, s);
  __syncthreads();
  const float scale = scale_of_block;
  if (isnan(scale)) return;
  const std::int64_t block = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t i = block * 4;
  if (i >= op.count) return;
  unsigned random[4] = {};  // the low half rounds m, the high one v
  if constexpr (sizeof(Moment) == 2) {
    const auto purpose = static_cast<unsigned>(RandomPurpose::kRoundMoments);
    const uint4 words = philox_words(
        op.seed, make_uint4(static_cast<unsigned>(block), purpose, op.parameter, op.iteration));
#pragma unroll
    for (int k = 0; k < 4; ++k) random[k] = word_of(words, k);
  }
  const int count = static_cast<int>(min(static_cast<long long>(op.count - i), 4ll));
  float w[4] = {}, g[4] = {}, m[4] = {}, v[4] = {};
  load_some(op.weights + i, count, w);
  load_some(op.gradients + i, count, g);
  load_some(op.m + i, count, m);
  load_some(op.v + i, count, v);
  Moment kept_m[4], kept_v[4];
  Copy copy[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    Element e{w[k], m[k], v[k]};
    update(e, g[k] * scale, s);
    w[k] = e.w;
    kept_m[k] = kept<Moment>(e.m, random[k] & 0xffffu);
    kept_v[k] = kept<Moment>(e.v, random[k] >> 16);
    copy[k] = from_float<Copy>(e.w);
  }
  store_some(op.weights + i, count, w);
  store_some(op.m + i, count, kept_m);
  store_some(op.v + i, count, kept_v);
  if (op.copy != nullptr) store_some(op.copy + i, count, copy);
}

template <class Moment, class Copy>
void launch_adamw(const AdamW& op, cudaStream_t stream) {
  const auto f = [](double x) { return static_cast<float>(x); };
  const Scalars scalars{op.gradient_scale,
                        op.gradient_clip,
                        f(1.0 - op.learning_rate * op.weight_decay),
                        f(1.0 - op.beta1),
                        f(1.0 - op.beta2),
                        f(op.beta2),
                        f(op.epsilon),
                        f(std::sqrt(op.correction2)),
                        f(op.learning_rate / op.correction1)};
  const AdamWArguments<Moment, Copy> arguments{op.count,
                                               op.weights,
                                               op.gradients,
                                               static_cast<Moment*>(op.m),
                                               static_cast<Moment*>(op.v),
                                               static_cast<Copy*>(op.copy),
                                               op.norm,
                                               scalars,
                                               op.seed,
                                               op.parameter,
                                               op.iteration};
  launch(adamw_kernel<Moment, Copy>, static_cast<unsigned>(blocks_for(op.count, 4 * kThreads)),
         kThreads, 0, stream, arguments);
}

}  // namespace

void add_squares(const FloatArrays& arrays, double* partial, bool first, cudaStream_t stream) {
  launch(squares_kernel, kReductionBlocks, kThreads, 0, stream, arrays, partial, first);
}

void finish_norm(const double* partial, double factor, double* norm, cudaStream_t stream) {
  launch(finish_norm_kernel, 1, kReductionBlocks, 0, stream, partial, factor, norm);
}

void adamw(const AdamW& op, cudaStream_t stream) {
  const bool half = op.copy_dtype == DType::kF16;
  if (op.moments == DType::kBF16) {
    half ? launch_adamw<__nv_bfloat16, __half>(op, stream)
         : launch_adamw<__nv_bfloat16, __nv_bfloat16>(op, stream);
  } else {
    half ? launch_adamw<float, __half>(op, stream) : launch_adamw<float, __nv_bfloat16>(op, stream);
  }
}

}  // namespace snug::cuda
