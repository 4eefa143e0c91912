// Cross-entropy against the CPU's reference.
#include "backend/cpu/kernels/reference/kernels.h"
#include "backend/cuda/kernels/kernel_testing.h"

namespace snug::cuda {
namespace {

// Widths of one column, odd ones, those that a small block holds, that a large one holds in
// registers, and that it reads twice.
constexpr std::array<std::int64_t, 7> kWidths = {1, 61, 512, 1024, 5003, 50304, 65536};

TEST(CudaCrossEntropy, LossAndGradientAreTheReferences) {
  for (const DType dtype : kPrecisions) {
    for (const std::int64_t V : kWidths) {
      const std::int64_t rows = V > 10000 ? 2 : 5;
      const Floats logits = random_floats(rows * V, dtype, 1, 3);
      Ints targets = random_tokens(rows, static_cast<std::int32_t>(V), 2);
      targets[1] = -1;
      Floats expected = logits, losses(static_cast<std::size_t>(rows));
      cpu::reference::cross_entropy<float>(
          {rows, V, targets.data(), expected.data(), losses.data(), true});
      constexpr float kFactor = 4;
      for (float& value : expected) value *= kFactor;
      const CardArray card_logits(dtype, logits), card_targets(targets),
          card_losses(DType::kF32, losses.size());
      const auto run = [&](bool want_gradient) {
        cross_entropy({dtype, rows, V, card_targets.i32(), card_logits.data(), card_losses.f32(),
                       want_gradient, kFactor},
                      nullptr);
      };
      run(false);
      EXPECT_EQ(card_logits.floats(), logits) << "without a gradient the logits stay";
      const Floats alone = card_losses.floats();
      run(true);
      EXPECT_EQ(card_losses.floats(), alone);
      // exp by the fast path is good to 2 ulp and its argument's rounding, |x| below 32.
      const double exp_error = 40 * 0x1p-24;
      expect_near(alone, losses, exp_error, 2 * exp_error, "loss");
      // Where fp16 has no normal number any more, its step is absolute.
      const double step = dtype == DType::kF16 ? 0x1p-25 : 1e-9;
      expect_near(card_logits.floats(), expected, rounding_of(dtype) + 2 * exp_error,
                  step + kFactor * exp_error * 1e-3 + (kFactor * 0x1p-24), "gradient");
    }
  }
}

TEST(CudaCrossEntropy, InfinityAndNanShow) {
  Floats logits(64, 0.5f);
  logits[3] = INFINITY;
  const CardArray card(DType::kF32, logits), targets(Ints{5}), losses(DType::kF32, 1);
  cross_entropy({DType::kF32, 1, 64, targets.i32(), card.data(), losses.f32(), true, 1}, nullptr);
  EXPECT_FALSE(std::isfinite(losses.floats()[0]));
}

}  // namespace
}  // namespace snug::cuda
