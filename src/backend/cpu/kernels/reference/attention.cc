// The oracle of attention; see the header. Clarity before speed: allocates, loops in triples.
#include "backend/cpu/kernels/reference/attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/cpu/kernels/reference/kernels.h"
#include "base/philox.h"

namespace snug::cpu::reference {
namespace {

using Doubles = std::vector<double>;

// Columns [first, first + D) of T rows.
template <class X>
Doubles gather(const X* data, std::int64_t T, std::int64_t stride, std::int64_t first,
               std::int64_t D) {
  Doubles rows(static_cast<std::size_t>(T * D));
  for (std::int64_t t = 0; t < T; ++t)
    for (std::int64_t d = 0; d < D; ++d) rows[t * D + d] = value_of(data[t * stride + first + d]);
  return rows;
}

template <class X>
void scatter(const Doubles& rows, X* data, std::int64_t stride, std::int64_t first,
             std::int64_t D) {
  const auto T = static_cast<std::int64_t>(rows.size()) / D;
  for (std::int64_t t = 0; t < T; ++t)
    for (std::int64_t d = 0; d < D; ++d) set_nearest(data[t * stride + first + d], rows[t * D + d]);
}

// (T, T) multipliers of one head; empty when dropout is off.
Doubles dropout_multipliers(const Dropout& dropout, std::int64_t b, std::int64_t h,
                            std::int64_t T) {
  Doubles multipliers;
  if (dropout.threshold == 0) return multipliers;
  multipliers.resize(static_cast<std::size_t>(T * T));
  const std::int64_t row_stride = (T + 3) / 4 * 4;
  for (std::int64_t i = 0; i < T; ++i) {
    for (std::int64_t j = 0; j < T; ++j) {
      const std::int64_t element = (h * T + i) * row_stride + j;
      const PhiloxBlock words =
          philox(dropout.seed,
                 {static_cast<std::uint32_t>(element / 4), dropout.site,
                  dropout.first_sequence + static_cast<std::uint32_t>(b), dropout.iteration});
      multipliers[i * T + j] = words[element % 4] >= dropout.threshold ? dropout.scale : 0.0;
    }
  }
  return multipliers;
}

double dot(const double* x, const double* y, std::int64_t count) {
  double sum = 0;
  for (std::int64_t n = 0; n < count; ++n) sum += x[n] * y[n];
  return sum;
}

double multiplier_of(const Head& head, std::int64_t i, std::int64_t j) {
  return head.multipliers == nullptr ? 1.0 : head.multipliers[i * head.T + j];
}

}  // namespace

void head_forward(const Head& head, double* out, double* lse) {
  const auto [T, D, q, k, v, multipliers] = head;
  const double scale = 1.0 / std::sqrt(static_cast<double>(D));
  Doubles scores(static_cast<std::size_t>(T));
  for (std::int64_t i = 0; i < T; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) scores[j] = scale * dot(q + i * D, k + j * D, D);
    const double top = *std::max_element(scores.begin(), scores.begin() + i + 1);
    double total = 0;
    for (std::int64_t j = 0; j <= i; ++j) total += std::exp(scores[j] - top);
    lse[i] = top + std::log(total);
    std::fill_n(out + i * D, D, 0.0);
    for (std::int64_t j = 0; j <= i; ++j) {
      const double p = std::exp(scores[j] - lse[i]) * multiplier_of(head, i, j);
      for (std::int64_t d = 0; d < D; ++d) out[i * D + d] += p * v[j * D + d];
    }
  }
}

void head_backward(const Head& head, const double* out, const double* lse, const double* dout,
                   const HeadGradients& gradients) {
  const auto [T, D, q, k, v, multipliers] = head;
  const auto [dq, dk, dv] = gradients;
  const double scale = 1.0 / std::sqrt(static_cast<double>(D));
  for (double* gradient : {dq, dk, dv}) std::fill_n(gradient, T * D, 0.0);
  for (std::int64_t i = 0; i < T; ++i) {
    const double delta = dot(dout + i * D, out + i * D, D);
    for (std::int64_t j = 0; j <= i; ++j) {
      const double p = std::exp(scale * dot(q + i * D, k + j * D, D) - lse[i]);
      const double multiplier = multiplier_of(head, i, j);
      const double dp = multiplier * dot(dout + i * D, v + j * D, D);
      const double dscore = scale * p * (dp - delta);
      for (std::int64_t d = 0; d < D; ++d) {
        dv[j * D + d] += p * multiplier * dout[i * D + d];
        dq[i * D + d] += dscore * k[j * D + d];
        dk[j * D + d] += dscore * q[i * D + d];
      }
    }
  }
}

template <class X>
void attention(const AttentionOn<X>& a) noexcept {
  const std::int64_t T = a.T, C = a.C, D = a.C / a.H;
  Doubles out(static_cast<std::size_t>(T * D)), lse(static_cast<std::size_t>(T));
  for (std::int64_t b = 0; b < a.B; ++b) {
    for (std::int64_t h = 0; h < a.H; ++h) {
      const X* qkv = a.qkv + b * T * 3 * C;
      const Doubles q = gather(qkv, T, 3 * C, h * D, D);
      const Doubles k = gather(qkv, T, 3 * C, C + h * D, D);
      const Doubles v = gather(qkv, T, 3 * C, 2 * C + h * D, D);
      const Doubles multipliers = dropout_multipliers(a.dropout, b, h, T);
      head_forward(
          {T, D, q.data(), k.data(), v.data(), multipliers.empty() ? nullptr : &multipliers[0]},
          out.data(), lse.data());
      scatter(out, a.out + b * T * C, C, h * D, D);
      if (a.lse != nullptr) scatter(lse, a.lse + (b * a.H + h) * T, 1, 0, 1);
    }
  }
}

template <class X>
void attention_backward(const AttentionBackwardOn<X>& a) noexcept {
  const std::int64_t T = a.T, C = a.C, D = a.C / a.H;
  const auto count = static_cast<std::size_t>(T * D);
  Doubles dq(count), dk(count), dv(count);
  for (std::int64_t b = 0; b < a.B; ++b) {
    for (std::int64_t h = 0; h < a.H; ++h) {
      const X* qkv = a.qkv + b * T * 3 * C;
      const Doubles q = gather(qkv, T, 3 * C, h * D, D);
      const Doubles k = gather(qkv, T, 3 * C, C + h * D, D);
      const Doubles v = gather(qkv, T, 3 * C, 2 * C + h * D, D);
      const Doubles out = gather(a.out + b * T * C, T, C, h * D, D);
      const Doubles dout = gather(a.dout + b * T * C, T, C, h * D, D);
      const Doubles lse = gather(a.lse + (b * a.H + h) * T, T, 1, 0, 1);
      const Doubles multipliers = dropout_multipliers(a.dropout, b, h, T);
      head_backward(
          {T, D, q.data(), k.data(), v.data(), multipliers.empty() ? nullptr : &multipliers[0]},
          out.data(), lse.data(), dout.data(), {dq.data(), dk.data(), dv.data()});
      X* dqkv = a.dqkv + b * T * 3 * C;
      scatter(dq, dqkv, 3 * C, h * D, D);
      scatter(dk, dqkv, 3 * C, C + h * D, D);
      scatter(dv, dqkv, 3 * C, 2 * C + h * D, D);
    }
  }
}

template <class X>
void attention_decode(const AttentionDecodeOn<X>& a) noexcept {
  const std::int64_t C = a.C, D = a.C / a.H, T = a.position + 1;
  std::copy_n(a.qkv + C, C, a.keys + a.position * C);
  std::copy_n(a.qkv + 2 * C, C, a.values + a.position * C);
  const double scale = 1.0 / std::sqrt(static_cast<double>(D));
  Doubles scores(static_cast<std::size_t>(T)), out(static_cast<std::size_t>(D));
  for (std::int64_t h = 0; h < a.H; ++h) {
    const Doubles q = gather(a.qkv, 1, C, h * D, D);
    const Doubles k = gather(a.keys, T, C, h * D, D);
    const Doubles v = gather(a.values, T, C, h * D, D);
    for (std::int64_t j = 0; j < T; ++j) scores[j] = scale * dot(q.data(), &k[j * D], D);
    const double top = *std::max_element(scores.begin(), scores.end());
    double total = 0;
    for (double& score : scores) total += score = std::exp(score - top);
    std::fill(out.begin(), out.end(), 0.0);
    for (std::int64_t j = 0; j < T; ++j)
      for (std::int64_t d = 0; d < D; ++d) out[d] += scores[j] / total * v[j * D + d];
    scatter(out, a.out, C, h * D, D);
  }
}

template void attention(const AttentionOn<float>&) noexcept;
template void attention(const AttentionOn<Bf16>&) noexcept;
template void attention(const AttentionOn<F16>&) noexcept;
template void attention_backward(const AttentionBackwardOn<float>&) noexcept;
template void attention_backward(const AttentionBackwardOn<Bf16>&) noexcept;
template void attention_backward(const AttentionBackwardOn<F16>&) noexcept;
template void attention_decode(const AttentionDecodeOn<float>&) noexcept;
template void attention_decode(const AttentionDecodeOn<Bf16>&) noexcept;
template void attention_decode(const AttentionDecodeOn<F16>&) noexcept;

}  // namespace snug::cpu::reference
