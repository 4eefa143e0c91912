// The gradient of the whole program against finite differences of its loss, dropout included (which
// the golden fixtures cannot have: PyTorch draws other masks).
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "backend/cpu/kernels/kernel_testing.h"
#include "gpt2/spec.h"
#include "program_testing.h"

namespace snug {
namespace {

struct Variant {
  const char* name;
  bool bias;
  std::int64_t checkpoint_blocks;
  const cpu::KernelTable& (*kernels)();
  const char* gelu = "erf";
};

void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

model::ModelSpec tiny_model(bool bias, const char* gelu) {
  config::Config config;
  config.n_layer = 2;
  config.n_head = 2;
  config.n_embd = 6;
  config.block_size = 5;  // one position is never used
  config.bias = bias;
  config.gelu = gelu;
  config.dropout = 0.25;
  return gpt2::make_model_spec(config, 7);
}

class TinyRun {
 public:
  explicit TinyRun(const Variant& variant)
      : program(tiny_model(variant.bias, variant.gelu), shape(variant.checkpoint_blocks),
                variant.kernels(), /*threads=*/1),
        x_(8),
        y_(8) {
    std::mt19937 random(5);
    // Gains near 1 and embeddings of that size: a norm of a small vector is too steep to measure.
    std::normal_distribution<float> normal(0.0f, 0.4f);
    for (std::size_t i = 0; i < program.model().parameters.size(); ++i) {
      const model::ParameterSpec& parameter = program.model().parameters[i];
      const float centre = parameter.init == model::ParameterSpec::Init::kOnes ? 1.0f : 0.0f;
      const float scale = parameter.name.ends_with("e.weight") ? 3.0f : 1.0f;  // wte, wpe
      for (float& w : program.weight(i)) w = centre + scale * normal(random);
    }
    for (auto& token : x_) token = static_cast<std::int32_t>(random() % 7);
    for (auto& token : y_) token = static_cast<std::int32_t>(random() % 7);
    context_.dropout = 0.25;
    context_.seed = 3;
  }

  double loss() {
    const Doubles losses = program.run_batch(program::PhaseKind::kMicroStep, x_, y_, context_);
    return std::accumulate(losses.begin(), losses.end(), 0.0);
  }

  // Leaves the gradients in `program` and the weights as they are.
  void differentiate() {
    program.begin();
    loss();
    backend::StepContext context;
    context.update_count = 1;
    program.update(context);  // with a learning rate of 0
  }

  BoundProgram program;

 private:
  static program::TrainingShape shape(std::int64_t checkpoint_blocks) {
    program::TrainingShape shape;
    shape.batch_size = 2;
    shape.block_size = 4;
    shape.checkpoint_blocks = checkpoint_blocks;
    return shape;
  }

  std::vector<std::int32_t> x_, y_;
  backend::StepContext context_;
};

struct Derivative {
  double value;
  double error;  // a bound of it
};

// Central differences at h, h/2 and h/4, each pair extrapolated (Richardson). Truncation: two
// extrapolations differ by 15 times the error of the finer one where h^4 rules; their whole
// difference is taken. Rounding: the sum of 8 losses near 2 that went through some 30 float
// operations each, 100 units of the last place in all, over the finest difference's step.
template <class Function>
Derivative numeric_derivative(Function f, float& x) {
  const auto central = [&](float h) { return cpu::testing::central_difference(f, x, h); };
  constexpr float kStep = 1.0f / 16;
  const double coarse = central(kStep), middle = central(kStep / 2), fine = central(kStep / 4);
  const double value = (4 * fine - middle) / 3;
  const double truncation = std::abs(value - (4 * middle - coarse) / 3);
  return {value, truncation + 100 * 0x1p-24 / (kStep / 4)};
}

class Gradient : public testing::TestWithParam<Variant> {};

TEST_P(Gradient, AgreesWithFiniteDifferences) {
  TinyRun run(GetParam());
  run.differentiate();
  const auto& parameters = run.program.model().parameters;
  double largest = 0, sharpest = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::span<float> weight = run.program.weight(i);
    for (std::size_t e = 0; e < weight.size(); ++e) {
      const double gradient = run.program.gradient(i)[e];
      const Derivative numeric = numeric_derivative([&] { return run.loss(); }, weight[e]);
      EXPECT_NEAR(gradient, numeric.value, numeric.error) << parameters[i].name << "[" << e << "]";
      largest = std::max(largest, std::abs(gradient));
      sharpest = std::max(sharpest, numeric.error);
    }
  }
  EXPECT_LT(sharpest, 0.02 * largest);  // or the bound would not say much
  std::printf("  gradients to %.3g, tolerances to %.3g\n", largest, sharpest);
}

INSTANTIATE_TEST_SUITE_P(
    Variants, Gradient,
    testing::Values(Variant{"reference", true, 0, cpu::reference_kernels},
                    Variant{"reference_no_bias", false, 0, cpu::reference_kernels},
                    Variant{"reference_recomputed", true, 2, cpu::reference_kernels},
                    Variant{"fast", true, 1, cpu::fast_kernels},
                    Variant{"tanh_reference", true, 1, cpu::reference_kernels, "tanh"},
                    Variant{"tanh_fast", true, 1, cpu::fast_kernels, "tanh"}),
    [](const auto& param_info) { return std::string(param_info.param.name); });

}  // namespace
}  // namespace snug
