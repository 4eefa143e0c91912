// Twenty updates in 16 bits on the fake card and on the processor, which runs the same Program: the
// same batches and masks, roundings at the same places, sums in another order.
#include <gtest/gtest.h>

#include <cstdio>

#include "backend/cuda/card.h"
#include "card_run.h"

namespace snug {
namespace {

constexpr int kUpdates = 20;

struct Training {
  std::vector<double> losses, norms;
  std::vector<bool> updated;
  std::vector<float> before, after;  // the weights
};

template <class Run>
std::vector<float> weights_of(Run& run) {
  std::int64_t bytes = 0;
  for (const auto& tensor : train::CheckpointList(run.plan().program).weights()) {
    bytes += tensor.byte_count();
  }
  return floats_of(run.bytes().substr(0, static_cast<std::size_t>(bytes)));
}

template <class Run>
Training trained(Run run) {
  Training training;
  training.before = weights_of(run);
  for (int update = 0; update < kUpdates; ++update) {
    const train::StepResult step = run.engine().step(update);
    training.losses.push_back(step.loss);
    training.norms.push_back(step.gradient_norm);
    training.updated.push_back(step.updated);
  }
  training.after = weights_of(run);
  return training;
}

double root_mean_square(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(double{a[i]} - b[i], 2);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

// A sum in another order is off by float32's rounding, and so now and then rounds to the next
// number of 16 bits: by `unit`, relative. A logit of order 1 then moves a loss by as much; the mean
// over 74 tokens by less. A norm is a sum of squares: the same, relative. AdamW moves a weight by
// the learning rate at most, with the gradient's sign where the gradient is near zero: no weight is
// farther off than two rates per update, and the mean one by a tenth of what it moved.
void expect_alike(const std::string& dtype, double unit) {
  config::Config config = float_config();
  config.n_layer = 2;
  config.batch_size = 2;
  config.gradient_accumulation_steps = 1;
  config.dtype = dtype;
  const Training here = trained(SmallRun(config, TestDevice::kCpu));
  const Training card = trained(CardRun(on_card(config)));
  EXPECT_EQ(card.before, here.before);
  EXPECT_EQ(card.updated, here.updated);
  double worst_loss = 0, worst_norm = 0, worst_weight = 0;
  for (std::size_t i = 0; i < kUpdates; ++i) {
    worst_loss = std::max(worst_loss, std::abs(card.losses[i] - here.losses[i]));
    if (!here.updated[i]) continue;
    worst_norm = std::max(worst_norm, std::abs(card.norms[i] / here.norms[i] - 1));
  }
  for (std::size_t i = 0; i < here.after.size(); ++i) {
    worst_weight = std::max(worst_weight, std::abs(double{card.after[i]} - here.after[i]));
  }
  const double moved = root_mean_square(here.after, here.before);
  const double off = root_mean_square(card.after, here.after);
  std::printf("%s: losses within %.1e, norms %.1e, weights off by %.4f of what they moved\n",
              dtype.c_str(), worst_loss, worst_norm, off / moved);
  EXPECT_LE(worst_loss, unit);
  EXPECT_LE(worst_norm, unit);
  EXPECT_LE(worst_weight, 2 * kUpdates * config.learning_rate);
  EXPECT_LE(off, 0.1 * moved);
  EXPECT_GT(off, 0) << "they never differ: was it the card?";
}

// The gradients of one iteration, tensor by tensor.
template <class Run, class Read>
std::vector<std::vector<float>> gradients_of(Run& run, const Read& read) {
  run.engine().step(0);
  run.engine().executor().wait();
  std::vector<std::vector<float>> all;
  for (const TensorId id : run.plan().program.gradients) {
    const Tensor& tensor = run.plan().program.tensor(id);
    std::string bytes(static_cast<std::size_t>(tensor.byte_count()), '\0');
    read(run.engine().executor(), id,
         std::as_writable_bytes(std::span<char>(bytes.data(), bytes.size())));
    all.push_back(floats_of(bytes));
  }
  return all;
}

// Of each tensor the difference, in root mean square, as a share of the tensor's own. An activation
// or a gradient that goes through a layer is rounded some ten times on its way, and each time the
// two may be a unit apart: together three units, the square root of ten.
void expect_same_gradients(const std::string& dtype, double unit) {
  config::Config config = float_config();
  config.dtype = dtype;
  SmallRun here(config, TestDevice::kCpu);
  CardRun card(on_card(config));
  const auto expected = gradients_of(
      here, [](auto& executor, TensorId id, auto bytes) { executor.read(id, 0, bytes); });
  const auto found = gradients_of(card, [](auto& executor, TensorId id, auto bytes) {
    cuda::read_bytes(executor, id, 0, bytes);
  });
  ASSERT_EQ(found.size(), expected.size());
  double worst = 0;
  std::string worst_name;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string& name = here.plan().program.tensor(here.plan().program.gradients[i]).name;
    const double size = root_mean_square(expected[i], std::vector<float>(expected[i].size()));
    const double off = root_mean_square(found[i], expected[i]);
    EXPECT_GT(size, 0) << name;
    EXPECT_LE(off, unit * size) << name;
    if (off / size > worst) {
      worst = off / size;
      worst_name = name;
    }
  }
  std::printf("%s: %zu gradients, the farthest is %s by %.1e\n", dtype.c_str(), found.size(),
              worst_name.c_str(), worst);
}

TEST(SixteenBits, GradientsAreTheProcessorsTensorByTensor) {
  expect_same_gradients("float32", 1e-5);
  expect_same_gradients("bfloat16", 3 * 0x1p-8);
  expect_same_gradients("float16", 3 * 0x1p-11);
}

TEST(SixteenBits, Bfloat16TrainsAsOnTheProcessor) { expect_alike("bfloat16", 0x1p-8); }
TEST(SixteenBits, Float16TrainsAsOnTheProcessor) { expect_alike("float16", 0x1p-11); }

}  // namespace
}  // namespace snug
