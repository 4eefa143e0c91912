// LayerNorm backward. With xhat = (x - mean) rstd and h = dy gamma, a row's gradient is
// dx += rstd (h - mean(h) - xhat mean(h xhat)); rows are independent. dgamma = sum of dy xhat and
// dbeta = sum of dy go down the columns: each sequence's T rows top to bottom, then one sequence
// after the other added to what is there.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/layernorm_backward.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "backend/cpu/kernels/any_precision.h"
#include "backend/cpu/kernels/chunks.h"
#include "backend/cpu/kernels/fast_kernels.h"
#include "backend/cpu/kernels/float16-inl.h"
#include "backend/cpu/kernels/vectors-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

// dx of rows [begin, end). With kSums their terms of dgamma and dbeta are summed into two rows of C
// floats, `sums`.
template <bool kSums, class X>
HWY_INLINE void backward_rows(const LayerNormBackwardOn<X>& op, std::int64_t begin,
                              std::int64_t end, float* gamma_sum, float* beta_sum) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d);
  const float width = static_cast<float>(op.C);
  for (std::int64_t row = begin; row < end; ++row) {
    const X* dy = op.dy + row * op.C;
    const X* x = op.x + row * op.C;
    X* dx = op.dx + row * op.C;
    const auto mean = hn::Set(d, op.mean[row]), rstd = hn::Set(d, op.rstd[row]);
    // Padded lanes have h = 0 and add nothing to either sum.
    auto sum_h = hn::Zero(d), sum_hx = hn::Zero(d);
    for (std::int64_t i = 0, rest = op.C; rest > 0; i += lanes, rest -= lanes) {
      const auto g = load_upto(d, dy + i, rest);
      const auto h = hn::Mul(g, load_upto(d, op.gamma + i, rest));
      const auto xhat = hn::Mul(hn::Sub(load_upto(d, x + i, rest), mean), rstd);
      sum_h = hn::Add(sum_h, h);
      sum_hx = hn::MulAdd(h, xhat, sum_hx);
      if constexpr (kSums) {
        store_upto(hn::MulAdd(g, xhat, load_upto(d, gamma_sum + i, rest)), d, gamma_sum + i, rest);
        store_upto(hn::Add(g, load_upto(d, beta_sum + i, rest)), d, beta_sum + i, rest);
      }
    }
    const auto mean_h = hn::Set(d, sum_of_lanes(d, sum_h) / width);
    const auto mean_hx = hn::Set(d, sum_of_lanes(d, sum_hx) / width);
    for (std::int64_t i = 0, rest = op.C; rest > 0; i += lanes, rest -= lanes) {
      const auto gamma = load_upto(d, op.gamma + i, rest);
      const auto xhat = hn::Mul(hn::Sub(load_upto(d, x + i, rest), mean), rstd);
      const auto centred = hn::MulSub(load_upto(d, dy + i, rest), gamma, mean_h);
      const auto inner = hn::NegMulAdd(xhat, mean_hx, centred);
      store_upto(hn::MulAdd(inner, rstd, load_upto(d, dx + i, rest)), d, dx + i, rest);
    }
  }
}

template <class X>
HWY_INLINE void layernorm_backward_rows_of(const LayerNormBackwardOn<X>& op, std::int64_t begin,
                                           std::int64_t end) {
  backward_rows<false>(op, begin, end, nullptr, nullptr);
}

// A whole sequence, with its share of dgamma and dbeta in op.sums.
template <class X>
HWY_INLINE void layernorm_backward_sequence_of(const LayerNormBackwardOn<X>& op, std::int64_t b) {
  float* sums = op.sums + b * 2 * op.C;
  std::memset(sums, 0, static_cast<std::size_t>(2 * op.C) * sizeof(float));
  backward_rows<true>(op, b * op.T, (b + 1) * op.T, sums, sums + op.C);
}

// dgamma and dbeta of columns [begin, end), at most kColumnBlock, of all sequences.
template <class X>
HWY_INLINE void layernorm_backward_columns_of(const LayerNormBackwardOn<X>& op, std::int64_t begin,
                                              std::int64_t end) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d);
  HWY_ALIGN float gamma_sum[kColumnBlock], beta_sum[kColumnBlock];
  for (std::int64_t b = 0; b < op.B; ++b) {
    std::memset(gamma_sum, 0, sizeof(gamma_sum));
    std::memset(beta_sum, 0, sizeof(beta_sum));
    for (std::int64_t row = b * op.T; row < (b + 1) * op.T; ++row) {
      const X* dy = op.dy + row * op.C + begin;
      const X* x = op.x + row * op.C + begin;
      const auto mean = hn::Set(d, op.mean[row]), rstd = hn::Set(d, op.rstd[row]);
      for (std::int64_t i = 0, rest = end - begin; rest > 0; i += lanes, rest -= lanes) {
        const auto g = load_upto(d, dy + i, rest);
        const auto xhat = hn::Mul(hn::Sub(load_upto(d, x + i, rest), mean), rstd);
        hn::Store(hn::MulAdd(g, xhat, hn::Load(d, gamma_sum + i)), d, gamma_sum + i);
        hn::Store(hn::Add(g, hn::Load(d, beta_sum + i)), d, beta_sum + i);
      }
    }
    add_to(op.dgamma + begin, gamma_sum, end - begin);
    if (op.dbeta) add_to(op.dbeta + begin, beta_sum, end - begin);
  }
}

// The same, from the sums of each sequence in op.sums.
template <class X>
HWY_INLINE void layernorm_add_sums_of(const LayerNormBackwardOn<X>& op, std::int64_t begin,
                                      std::int64_t end) {
  for (std::int64_t b = 0; b < op.B; ++b) {
    const float* sums = op.sums + b * 2 * op.C + begin;
    add_to(op.dgamma + begin, sums, end - begin);
    if (op.dbeta) add_to(op.dbeta + begin, sums + op.C, end - begin);
  }
}

void layernorm_backward_rows(AnyPrecision<LayerNormBackwardOn> op, std::int64_t begin,
                             std::int64_t end) {
  std::visit([&](const auto* a) HWY_ATTR { layernorm_backward_rows_of(*a, begin, end); }, op);
}
void layernorm_backward_sequence(AnyPrecision<LayerNormBackwardOn> op, std::int64_t b) {
  std::visit([&](const auto* a) HWY_ATTR { layernorm_backward_sequence_of(*a, b); }, op);
}
void layernorm_backward_columns(AnyPrecision<LayerNormBackwardOn> op, std::int64_t begin,
                                std::int64_t end) {
  std::visit([&](const auto* a) HWY_ATTR { layernorm_backward_columns_of(*a, begin, end); }, op);
}
void layernorm_add_sums(AnyPrecision<LayerNormBackwardOn> op, std::int64_t begin,
                        std::int64_t end) {
  std::visit([&](const auto* a) HWY_ATTR { layernorm_add_sums_of(*a, begin, end); }, op);
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::cpu {

HWY_EXPORT(layernorm_backward_rows);
HWY_EXPORT(layernorm_backward_sequence);
HWY_EXPORT(layernorm_backward_columns);
HWY_EXPORT(layernorm_add_sums);

namespace {

// One thread per sequence, because the sequence is in that thread's cache.
template <class X>
void by_sequences(const LayerNormBackwardOn<X>& op) {
  share_tasks(op.B, [&](std::int64_t b) {
    HWY_DYNAMIC_DISPATCH(layernorm_backward_sequence)(&op, b);
  });
  for_each_column_block(op.C, op.B, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(layernorm_add_sums)(&op, begin, end);
  });
}

template <class X>
void by_columns_and_rows(const LayerNormBackwardOn<X>& op) {
  for_each_column_block(op.C, op.B * op.T, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(layernorm_backward_columns)(&op, begin, end);
  });
  for_each_rows(op.B * op.T, op.C, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(layernorm_backward_rows)(&op, begin, end);
  });
}

}  // namespace

template <class X>
void layernorm_backward_fast(const LayerNormBackwardOn<X>& op) noexcept {
  const bool enough = op.B >= omp_get_max_threads() && op.B * op.T * op.C >= kParallelWork;
  enough ? by_sequences(op) : by_columns_and_rows(op);
}

template void layernorm_backward_fast(const LayerNormBackwardOn<float>&) noexcept;
template void layernorm_backward_fast(const LayerNormBackwardOn<Bf16>&) noexcept;
template void layernorm_backward_fast(const LayerNormBackwardOn<F16>&) noexcept;

}  // namespace snug::cpu
#endif  // HWY_ONCE
