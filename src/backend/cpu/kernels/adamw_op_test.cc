// The AdamW op of a program: the type of its moments picks the kernel, and the step's seed and
// iteration and the op's parameter key the rounding.
#include <cmath>
#include <span>

#include "backend/cpu/cpu_executor.h"
#include "backend/cpu/kernels/bf16.h"
#include "backend/cpu/kernels/kernel_testing.h"
#include "backend/cpu/kernels/reference/kernels.h"

namespace snug::cpu::testing {
namespace {

constexpr std::int64_t kCount = 1003;
constexpr std::int64_t kParameter = 11;
constexpr backend::StepContext kContext{.seed = (std::uint64_t{1} << 40) + 3,
                                        .iteration = 6,
                                        .gradient_scale = 0.25,
                                        .gradient_clip = 1.0,
                                        .learning_rate = 1e-3,
                                        .beta1 = 0.9,
                                        .beta2 = 0.95,
                                        .update_count = 7};
constexpr double kNorm = 2.0, kDecay = 0.1;

// An update of one parameter, with moments of the given type.
program::Program update_program(DType moments) {
  program::Program program;
  program.threads = omp_get_max_threads();
  const auto add = [&](const char* name, std::int64_t count, DType dtype) {
    program.tensors.push_back(
        {.name = name, .shape = Shape{count}, .dtype = dtype, .lifetime = Lifetime::kRun});
  };
  add("w", kCount, DType::kF32);
  add("g", kCount, DType::kF32);
  add("m", kCount, moments);
  add("v", kCount, moments);
  add("norm", 1, DType::kF64);
  ops::Op op{"AdamW w", ops::AdamW{.weight = 0,
                                   .gradient = 1,
                                   .m = 2,
                                   .v = 3,
                                   .norm = 4,
                                   .weight_decay = kDecay,
                                   .parameter_index = kParameter}};
  program.phases.push_back(
      {.kind = program::PhaseKind::kUpdate, .in_iteration = true, .ops = {op}});
  return program;
}

template <class Moment>
AdamWOn<Moment> settings() {
  AdamWOn<Moment> op{};
  op.count = kCount;
  op.gradient_scale = static_cast<float>(kContext.gradient_scale / (kNorm + 1e-6));
  op.learning_rate = kContext.learning_rate;
  op.beta1 = kContext.beta1;
  op.beta2 = kContext.beta2;
  op.epsilon = kContext.epsilon;
  op.weight_decay = kDecay;
  op.correction1 = 1 - std::pow(kContext.beta1, 7);
  op.correction2 = 1 - std::pow(kContext.beta2, 7);
  return op;
}

// Runs the op in an executor on weights, gradients and moments of its own; the same arrays go
// through `kernel`, and both must come out alike.
template <class Moment, class Kernel>
void check_op(DType dtype, const std::vector<Moment>& moments, Kernel kernel) {
  const program::Program program = update_program(dtype);
  const plan::Plan plan = plan::make_plan(program);
  CpuExecutor executor(program, plan, reference_kernels());
  Values w = normal_values(kCount, 1), g = normal_values(kCount, 2);
  std::vector<Moment> m = moments, v = moments;
  const auto in_arena = [&](TensorId id) {
    return reinterpret_cast<Moment*>(executor.view(id).data);
  };
  std::ranges::copy(w, executor.view(0).f32());
  std::ranges::copy(g, executor.view(1).f32());
  std::ranges::copy(m, in_arena(2));
  std::ranges::copy(v, in_arena(3));
  *executor.view(4).f64() = kNorm;
  executor.run(program.phases[0], kContext);

  AdamWOn<Moment> op = settings<Moment>();
  op.weights = w.data();
  op.gradients = g.data();
  op.m = m.data();
  op.v = v.data();
  kernel(op);
  EXPECT_TRUE(std::ranges::equal(std::span(executor.view(0).f32(), kCount), w));
  EXPECT_TRUE(std::ranges::equal(std::span(in_arena(2), kCount), m));
  EXPECT_TRUE(std::ranges::equal(std::span(in_arena(3), kCount), v));
}

TEST(AdamWOp, FloatMomentsGoToTheFloatKernel) {
  check_op(DType::kF32, Values(kCount, 0.3f),
           [](const AdamWOn<float>& op) { reference::adamw(op); });
}

TEST(AdamWOp, Bf16MomentsAreRoundedBySeedIterationAndParameter) {
  const std::vector<std::uint16_t> moments(kCount, round_to_bf16(0.3f, 0));
  check_op(DType::kBF16, moments, [](const AdamWOn<std::uint16_t>& op) {
    reference::adamw_bf16({op, {.seed = kContext.seed, .parameter = kParameter, .iteration = 6}});
  });
}

}  // namespace
}  // namespace snug::cpu::testing
