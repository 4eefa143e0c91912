// GELU, residual addition, dropout, casts and biases against the CPU's reference.
#include "backend/cpu/kernels/reference/kernels.h"
#include "backend/cuda/kernels/kernel_testing.h"

namespace snug::cuda {
namespace {

// erfc, exp and tanh are good to a few units in the last place.
constexpr double kFunctionError = 8 * 0x1p-24;

constexpr std::array kForms = {GeluForm::kErf, GeluForm::kTanh};

TEST(CudaGelu, IsTheReferences) {
  for (const DType dtype : kPrecisions) {
    for (const std::int64_t count : {1, 7, 64, 1003, 2048}) {
      for (const GeluForm form : kForms) {
        const Floats x = random_floats(count, dtype, 1, 2);
        Floats expected(x.size());
        cpu::reference::gelu<float>({count, x.data(), expected.data(), form});
        const CardArray on_card(dtype, x), y(dtype, x.size());
        gelu({dtype, form, count, on_card.data(), y.data()}, nullptr);
        expect_near(y.floats(), expected, rounding_of(dtype) + kFunctionError, 3e-7, "gelu");
      }
    }
  }
}

TEST(CudaGelu, SlopeIsTheReferences) {
  for (const DType dtype : kPrecisions) {
    for (const std::int64_t count : {5, 72, 2048}) {
      for (const GeluForm form : kForms) {
        const Floats x = random_floats(count, dtype, 2, 2), dy = random_floats(count, dtype, 3);
        Floats expected = dy;
        cpu::reference::gelu_backward<float>({count, x.data(), expected.data(), form});
        const CardArray on_card(dtype, x), gradient(dtype, dy);
        gelu_backward({dtype, form, count, on_card.data(), gradient.data()}, nullptr);
        expect_near(gradient.floats(), expected, rounding_of(dtype) + kFunctionError, 2e-6,
                    "dgelu");
      }
    }
  }
}

struct Extent {
  std::int64_t B, T, C;
};

// The sum is rounded once: where both are exact in float, bits agree with the CPU's.
TEST(CudaResidual, AddsWithTheCpusMasks) {
  for (const DType dtype : kPrecisions) {
    for (const auto& [B, T, C] : {Extent{2, 3, 5}, {3, 4, 8}, {1, 5, 64}, {2, 7, 24}}) {
      for (const Dropout& dropout : {Dropout(), some_dropout()}) {
        const std::int64_t count = B * T * C;
        const Floats a = random_floats(count, dtype, 4), b = random_floats(count, dtype, 5);
        Floats sum(a.size()), masked(a.size());
        const auto cpu_dropout = as_cpu<cpu::Dropout>(dropout);
        cpu::reference::residual_add<float>({B, T, C, a.data(), b.data(), sum.data(), cpu_dropout});
        cpu::reference::dropout_backward<float>({B, T, C, b.data(), masked.data(), cpu_dropout});
        const CardArray residual(dtype, a), branch(dtype, b), out(dtype, a.size()),
            din(dtype, a.size());
        residual_add({dtype, B, T, C, residual.data(), branch.data(), out.data(), dropout},
                     nullptr);
        dropout_backward({dtype, B, T, C, branch.data(), din.data(), dropout}, nullptr);
        const double bound = rounding_of(dtype) + 2 * 0x1p-24;
        expect_near(out.floats(), sum, bound, 2e-7, "residual");
        expect_near(din.floats(), masked, bound, 0, "masked");
        // A mask is a mask: what is dropped is 0, what is kept is not.
        const Floats on_card = din.floats();
        for (std::size_t i = 0; i < masked.size(); ++i) {
          ASSERT_EQ(on_card[i] == 0, masked[i] == 0) << i;
        }
      }
    }
  }
}

// More rows than blocks, rows that no pack divides, rows that are no multiple of 16 bytes.
TEST(CudaBias, IsInEveryRow) {
  for (const DType dtype : kPrecisions) {
    for (const auto& [rows, N] :
         {std::pair<std::int64_t, std::int64_t>{1, 5}, {7, 65}, {3, 768}, {1030, 8}}) {
      const Floats bias = random_floats(N, DType::kF32, 7);
      Floats expected;
      for (std::int64_t i = 0; i < rows * N; ++i) {
        expected.push_back(rounded_to(dtype, bias[static_cast<std::size_t>(i % N)]));
      }
      const CardArray from(DType::kF32, bias), to(dtype, expected.size());
      spread_bias({dtype, rows, N, from.f32(), to.data()}, nullptr);
      EXPECT_EQ(to.floats(), expected);
    }
  }
}

TEST(CudaCast, RoundsToTheNearest) {
  for (const DType dtype : kPrecisions) {
    for (const std::int64_t count : {1, 8, 77, 1024}) {
      const Floats x = random_floats(count, DType::kF32, 6);
      Floats expected = x;
      for (float& value : expected) value = rounded_to(dtype, value);
      const CardArray from(DType::kF32, x), to(dtype, x.size());
      cast(dtype, from.f32(), to.data(), count, nullptr);
      EXPECT_EQ(to.floats(), expected);
    }
  }
}

}  // namespace
}  // namespace snug::cuda
