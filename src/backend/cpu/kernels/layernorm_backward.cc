// LayerNorm backward. With xhat = (x - mean) rstd and h = dy gamma, a row's gradient is
// dx += rstd (h - mean(h) - xhat mean(h xhat)); rows are independent. dgamma = sum of dy xhat and
// dbeta = sum of dy go down the columns: each sequence's T rows top to bottom, then added to what
// is there; threads share columns, so every column has one owner and one order.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/layernorm_backward.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "backend/cpu/kernels/chunks.h"
#include "backend/cpu/kernels/fast_kernels.h"
#include "backend/cpu/kernels/vectors-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

// dx of rows [begin, end).
void layernorm_backward_rows(const LayerNormBackward& op, std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d);
  const float width = static_cast<float>(op.C);
  for (std::int64_t row = begin; row < end; ++row) {
    const float* dy = op.dy + row * op.C;
    const float* x = op.x + row * op.C;
    float* dx = op.dx + row * op.C;
    const auto mean = hn::Set(d, op.mean[row]), rstd = hn::Set(d, op.rstd[row]);
    // Padded lanes have h = 0 and add nothing to either sum.
    auto sum_h = hn::Zero(d), sum_hx = hn::Zero(d);
    for (std::int64_t i = 0, rest = op.C; rest > 0; i += lanes, rest -= lanes) {
      const auto h = hn::Mul(load_upto(d, dy + i, rest), load_upto(d, op.gamma + i, rest));
      const auto xhat = hn::Mul(hn::Sub(load_upto(d, x + i, rest), mean), rstd);
      sum_h = hn::Add(sum_h, h);
      sum_hx = hn::MulAdd(h, xhat, sum_hx);
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

// dgamma and dbeta of columns [begin, end), at most kColumnBlock.
void layernorm_backward_columns(const LayerNormBackward& op, std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d);
  HWY_ALIGN float gamma_sum[kColumnBlock], beta_sum[kColumnBlock];
  for (std::int64_t b = 0; b < op.B; ++b) {
    std::memset(gamma_sum, 0, sizeof(gamma_sum));
    std::memset(beta_sum, 0, sizeof(beta_sum));
    for (std::int64_t row = b * op.T; row < (b + 1) * op.T; ++row) {
      const float* dy = op.dy + row * op.C + begin;
      const float* x = op.x + row * op.C + begin;
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

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::cpu {

HWY_EXPORT(layernorm_backward_rows);
HWY_EXPORT(layernorm_backward_columns);

void layernorm_backward_fast(const LayerNormBackward& op) noexcept {
  for_each_column_block(op.C, op.B * op.T, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(layernorm_backward_columns)(op, begin, end);
  });
  for_each_rows(op.B * op.T, op.C, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(layernorm_backward_rows)(op, begin, end);
  });
}

}  // namespace snug::cpu
#endif  // HWY_ONCE
