// The norm and AdamW against the CPU's reference.
#include "backend/cpu/kernels/bf16.h"
#include "backend/cpu/kernels/reference/kernels.h"
#include "backend/cuda/kernels/kernel_testing.h"

namespace snug::cuda {
namespace {

TEST(CudaNormOfGradients, IsTheSumsRoot) {
  std::vector<Floats> values;
  std::vector<std::unique_ptr<CardArray>> cards;
  FloatArrays arrays;
  double sum = 0;
  for (const std::int64_t count : {1, 3, 1024, 70001}) {
    values.push_back(random_floats(count, DType::kF32, static_cast<unsigned>(count), 1e3));
    cards.push_back(std::make_unique<CardArray>(DType::kF32, values.back()));
    arrays.data[arrays.size] = cards.back()->f32();
    arrays.count[arrays.size++] = count;
    for (const float x : values.back()) sum += static_cast<double>(x) * x;
  }
  const CardArray partial(DType::kF64, kReductionBlocks), norm(DType::kF64, 1);
  add_squares(arrays, partial.f64(), true, nullptr);
  finish_norm(partial.f64(), 0.25, norm.f64(), nullptr);
  double found = 0;
  std::memcpy(&found, norm.bytes_on_host().data(), sizeof found);
  EXPECT_NEAR(found, 0.25 * std::sqrt(sum), 1e-12 * found);
  add_squares(arrays, partial.f64(), false, nullptr);  // once more
  finish_norm(partial.f64(), 1, norm.f64(), nullptr);
  std::memcpy(&found, norm.bytes_on_host().data(), sizeof found);
  EXPECT_NEAR(found, std::sqrt(2 * sum), 1e-12 * found);
}

struct UpdateCase {
  std::int64_t count;
  DType moments, copy;
  double norm, clip;
};

AdamW settings_of(const UpdateCase& c) {
  AdamW op{};
  op.moments = c.moments;
  op.copy_dtype = c.copy;
  op.count = c.count;
  op.gradient_scale = 0.5;
  op.gradient_clip = c.clip;
  op.learning_rate = 1e-2;
  op.beta1 = 0.9;
  op.beta2 = 0.95;
  op.epsilon = 1e-8;
  op.weight_decay = 0.1;
  op.correction1 = 1 - std::pow(0.9, 3);
  op.correction2 = 1 - std::pow(0.95, 3);
  op.seed = 11;
  op.parameter = 5;
  op.iteration = 2;
  return op;
}

double scale_of(const AdamW& op, double norm) {
  const double clip = op.gradient_clip > 0 ? std::min(1.0, op.gradient_clip / (norm + 1e-6)) : 1;
  return op.gradient_scale * clip;
}

struct State {
  Floats weights, gradients, m, v;
};

// The CPU's reference on the same state.
void reference_adamw(const AdamW& op, double norm, State& s) {
  cpu::AdamW common{op.count,         s.weights.data(), s.gradients.data(),
                    s.m.data(),       s.v.data(),       static_cast<float>(scale_of(op, norm)),
                    op.learning_rate, op.beta1,         op.beta2,
                    op.epsilon,       op.weight_decay,  op.correction1,
                    op.correction2};
  if (op.moments == DType::kF32) return cpu::reference::adamw(common);
  std::vector<std::uint16_t> m(s.m.size()), v(s.v.size());
  for (std::size_t i = 0; i < m.size(); ++i) {
    m[i] = cpu::nearest_bf16(s.m[i]);
    v[i] = cpu::nearest_bf16(s.v[i]);
  }
  cpu::AdamWBf16 narrow;
  static_cast<cpu::AdamWOn<std::uint16_t>&>(narrow) = {
      op.count,         s.weights.data(), s.gradients.data(),
      m.data(),         v.data(),         common.gradient_scale,
      op.learning_rate, op.beta1,         op.beta2,
      op.epsilon,       op.weight_decay,  op.correction1,
      op.correction2};
  narrow.rounding = {op.seed, op.parameter, op.iteration};
  cpu::reference::adamw_bf16(narrow);
  for (std::size_t i = 0; i < m.size(); ++i) {
    s.m[i] = cpu::bf16_to_float(m[i]);
    s.v[i] = cpu::bf16_to_float(v[i]);
  }
}

void check_update(const UpdateCase& c) {
  AdamW op = settings_of(c);
  State s{random_floats(c.count, DType::kF32, 1), random_floats(c.count, DType::kF32, 2),
          random_floats(c.count, c.moments, 3, 0.1), random_floats(c.count, c.moments, 4, 0.1)};
  for (float& v : s.v) v = std::abs(v);
  const CardArray weights(DType::kF32, s.weights), gradients(DType::kF32, s.gradients),
      m(c.moments, s.m), v(c.moments, s.v), copy(c.copy, s.weights.size()), norm(DType::kF64, 1);
  expect_success(cudaMemcpy(norm.data(), &c.norm, sizeof c.norm, cudaMemcpyHostToDevice));
  op.weights = weights.f32();
  op.gradients = gradients.f32();
  op.m = m.data();
  op.v = v.data();
  op.copy = copy.data();
  op.norm = norm.f64();
  adamw(op, nullptr);
  if (!std::isfinite(c.norm)) {
    EXPECT_EQ(weights.floats(), s.weights);
    EXPECT_EQ(m.floats(), s.m);
    return;
  }
  reference_adamw(op, c.norm, s);
  // A few roundings of float each; a moment in 16 bits may then round the other way.
  const double moment = c.moments == DType::kF32 ? 4 * 0x1p-24 : 0x1p-7;
  expect_near(weights.floats(), s.weights, 8 * 0x1p-24, 1e-7, "weight");
  expect_near(m.floats(), s.m, moment, 1e-7, "m");
  expect_near(v.floats(), s.v, moment, 1e-8, "v");
  Floats expected = weights.floats();
  for (float& x : expected) x = rounded_to(c.copy, x);
  EXPECT_EQ(copy.floats(), expected);
}

TEST(CudaAdamW, IsTheReferences) {
  for (const std::int64_t count : {1, 5, 256, 4099}) {
    for (const DType moments : {DType::kF32, DType::kBF16}) {
      for (const DType copy : {DType::kBF16, DType::kF16}) {
        check_update({count, moments, copy, 3.0, 1.0});
        check_update({count, moments, copy, 0.5, 0.0});
      }
    }
  }
}

// The flag that a card's own norm is: nothing changes, and nobody on the host had to look.
TEST(CudaAdamW, ChangesNothingWhenTheNormIsNotFinite) {
  for (const double norm : {static_cast<double>(INFINITY), std::nan("")}) {
    check_update({67, DType::kF32, DType::kBF16, norm, 1.0});
    check_update({67, DType::kBF16, DType::kF16, norm, 0.0});
  }
}

// Only the moments' stochastic rounding is told apart by its draw: it has the CPU's bits nearly
// everywhere, and where float's last place differs it is one step away.
TEST(CudaAdamW, RoundsMomentsWithTheCpusDraws) {
  const UpdateCase c{4096, DType::kBF16, DType::kBF16, 1.0, 0.0};
  AdamW op = settings_of(c);
  State s{random_floats(c.count, DType::kF32, 1), random_floats(c.count, DType::kF32, 2),
          random_floats(c.count, DType::kBF16, 3, 0.1),
          random_floats(c.count, DType::kBF16, 4, 0.1)};
  for (float& v : s.v) v = std::abs(v);
  const CardArray weights(DType::kF32, s.weights), gradients(DType::kF32, s.gradients),
      m(DType::kBF16, s.m), v(DType::kBF16, s.v), norm(DType::kF64, 1);
  expect_success(cudaMemcpy(norm.data(), &c.norm, sizeof c.norm, cudaMemcpyHostToDevice));
  op.weights = weights.f32();
  op.gradients = gradients.f32();
  op.m = m.data();
  op.v = v.data();
  op.norm = norm.f64();
  adamw(op, nullptr);
  reference_adamw(op, c.norm, s);
  const Floats card_m = m.floats();
  std::int64_t same = 0;
  for (std::size_t i = 0; i < card_m.size(); ++i) same += card_m[i] == s.m[i] ? 1 : 0;
  EXPECT_GT(same, 4090);
}

}  // namespace
}  // namespace snug::cuda
