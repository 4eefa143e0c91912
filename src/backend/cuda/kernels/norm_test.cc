// Layer normalisation and sums over rows against the CPU's reference.
#include "backend/cpu/kernels/reference/kernels.h"
#include "backend/cuda/kernels/kernel_testing.h"

namespace snug::cuda {
namespace {

struct NormExtent {
  std::int64_t B, T, C;
};
// One column, odd widths, GPT-2's, and more than a thread block's columns or registers hold.
constexpr std::array kNormExtents = {
    NormExtent{1, 1, 1},    NormExtent{2, 3, 33},   NormExtent{2, 5, 64},
    NormExtent{3, 7, 96},   NormExtent{2, 3, 384},  NormExtent{1, 4, 768},
    NormExtent{1, 3, 1600}, NormExtent{1, 2, 2568}, NormExtent{1, 2, 1027}};

// Sums of n float terms, added in any order.
double sum_error(std::int64_t n) { return 2 * std::sqrt(static_cast<double>(n)) * 0x1p-24; }

// Inputs of a norm and of its gradient.
struct Inputs {
  Inputs(DType of, const NormExtent& e)
      : dtype(of),
        extent(e),
        x(random_floats(e.B * e.T * e.C, of, 1, 2)),
        branch(random_floats(e.B * e.T * e.C, of, 2)),
        dy(random_floats(e.B * e.T * e.C, of, 3)),
        gamma(random_floats(e.C, DType::kF32, 4)),
        beta(random_floats(e.C, DType::kF32, 5)) {}

  std::int64_t rows() const { return extent.B * extent.T; }

  DType dtype;
  NormExtent extent;
  Floats x, branch, dy, gamma, beta;
};

struct Normed {
  Floats y, mean, rstd;
};
Normed reference_norm(const Inputs& in, const Floats& x, bool has_beta) {
  const auto rows = static_cast<std::size_t>(in.rows());
  Normed out{Floats(x.size()), Floats(rows), Floats(rows)};
  cpu::reference::layernorm_forward<float>({in.rows(), in.extent.C, x.data(), in.gamma.data(),
                                            has_beta ? in.beta.data() : nullptr, out.y.data(),
                                            out.mean.data(), out.rstd.data()});
  return out;
}

void expect_norm(const Inputs& in, const Normed& card, const Normed& expected) {
  const double sums = sum_error(in.extent.C);
  expect_near(card.mean, expected.mean, 2 * sums, 4 * sums, "mean");
  expect_near(card.rstd, expected.rstd, 4 * sums + 8 * 0x1p-24, 0, "rstd");
  expect_near(card.y, expected.y, rounding_of(in.dtype) + 8 * sums, 16 * sums + 1e-6, "y");
}

TEST(CudaNorm, ForwardIsTheReferences) {
  for (const DType dtype : kPrecisions) {
    for (const NormExtent& extent : kNormExtents) {
      for (const bool has_beta : {false, true}) {
        const Inputs in(dtype, extent);
        const auto rows = static_cast<std::size_t>(in.rows());
        const CardArray x(dtype, in.x), gamma(DType::kF32, in.gamma), beta(DType::kF32, in.beta);
        const CardArray y(dtype, in.x.size()), mean(DType::kF32, rows), rstd(DType::kF32, rows);
        LayerNorm op{dtype,    extent.B,   extent.T,   extent.C, x.data(), gamma.f32(), nullptr,
                     y.data(), mean.f32(), rstd.f32(), nullptr,  nullptr,  nullptr,     Dropout()};
        if (has_beta) op.beta = beta.f32();
        layernorm(op, nullptr);
        const Normed expected = reference_norm(in, in.x, has_beta);
        expect_norm(in, {y.floats(), mean.floats(), rstd.floats()}, expected);
        const std::vector<std::byte> first = y.bytes_on_host();
        layernorm_apply(op, nullptr);
        EXPECT_TRUE(y.bytes_on_host() == first) << "apply makes the same y";
      }
    }
  }
}

// Fused: the sum is the one that the two kernels make apart, bit for bit, and so is the norm.
TEST(CudaNorm, ResidualInTheSamePass) {
  for (const DType dtype : kPrecisions) {
    for (const NormExtent& extent : kNormExtents) {
      for (const Dropout& dropout : {Dropout(), some_dropout()}) {
        const Inputs in(dtype, extent);
        const auto rows = static_cast<std::size_t>(in.rows());
        const std::size_t count = in.x.size();
        const CardArray x(dtype, in.x), branch(dtype, in.branch), gamma(DType::kF32, in.gamma);
        const CardArray sum(dtype, count), y(dtype, count), mean(DType::kF32, rows),
            rstd(DType::kF32, rows);
        const auto& [B, T, C] = extent;
        residual_add({dtype, B, T, C, x.data(), branch.data(), sum.data(), dropout}, nullptr);
        LayerNorm op{dtype,    B,          T,          C,       sum.data(), gamma.f32(), nullptr,
                     y.data(), mean.f32(), rstd.f32(), nullptr, nullptr,    nullptr,     dropout};
        layernorm(op, nullptr);
        const auto sum_apart = sum.bytes_on_host(), y_apart = y.bytes_on_host();
        const Floats rstd_apart = rstd.floats();
        op.residual = x.data();
        op.branch = branch.data();
        op.sum = x.data();  // in place
        layernorm(op, nullptr);
        EXPECT_TRUE(x.bytes_on_host() == sum_apart);
        EXPECT_TRUE(y.bytes_on_host() == y_apart);
        EXPECT_EQ(rstd.floats(), rstd_apart);
      }
    }
  }
}

TEST(CudaNorm, BackwardIsTheReferences) {
  for (const DType dtype : kPrecisions) {
    for (const NormExtent& extent : kNormExtents) {
      const Inputs in(dtype, extent);
      const auto& [B, T, C] = extent;
      const Normed normed = reference_norm(in, in.x, true);
      Floats dx = in.branch, dgamma = in.gamma, dbeta = in.beta;
      const CardArray card_dy(dtype, in.dy), card_x(dtype, in.x), gamma(DType::kF32, in.gamma),
          mean(DType::kF32, normed.mean), rstd(DType::kF32, normed.rstd), card_dx(dtype, dx),
          card_dgamma(DType::kF32, dgamma), card_dbeta(DType::kF32, dbeta);
      const CardArray scratch(DType::kF32, static_cast<std::size_t>(kReductionBlocks * 2 * C));
      Floats sums(static_cast<std::size_t>(B * 2 * C));
      cpu::reference::layernorm_backward<float>(
          {B, T, C, in.dy.data(), in.x.data(), in.gamma.data(), normed.mean.data(),
           normed.rstd.data(), dx.data(), dgamma.data(), dbeta.data(), sums.data()});
      layernorm_backward(
          {dtype, B * T, C, card_dy.data(), card_x.data(), gamma.f32(), mean.f32(), rstd.f32(),
           card_dx.data(), card_dgamma.f32(), card_dbeta.f32(), scratch.f32()},
          nullptr);
      const double scale = *std::ranges::max_element(normed.rstd);
      const double bound = sum_error(C) * 64 * std::max(1.0, scale);
      expect_near(card_dx.floats(), dx, rounding_of(dtype) + 1e-6, bound, "dx");
      expect_near(card_dgamma.floats(), dgamma, 1e-6, 32 * sum_error(B * T), "dgamma");
      expect_near(card_dbeta.floats(), dbeta, 1e-6, 16 * sum_error(B * T), "dbeta");
    }
  }
}

TEST(CudaBias, GradientIsTheSumOfRows) {
  for (const DType dtype : kPrecisions) {
    for (const auto& [B, T, C] : {NormExtent{1, 1, 3}, {2, 67, 33}, {3, 400, 8}, {1, 5, 768}}) {
      const Floats dy = random_floats(B * T * C, dtype, 6);
      Floats expected = random_floats(C, DType::kF32, 7);
      const CardArray card_dy(dtype, dy), dbias(DType::kF32, expected);
      const CardArray scratch(DType::kF32, static_cast<std::size_t>(kReductionBlocks * C));
      cpu::reference::bias_backward<float>({B, T, C, dy.data(), expected.data()});
      bias_backward({dtype, B * T, C, card_dy.data(), dbias.f32(), scratch.f32()}, nullptr);
      expect_near(dbias.floats(), expected, 1e-6, 16 * sum_error(B * T) * std::sqrt(B * T),
                  "dbias");
    }
  }
}

}  // namespace
}  // namespace snug::cuda
