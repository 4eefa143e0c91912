// What decision 0050 leaves out, by count: GPT-2 124M, 12 x 1024 tokens in bfloat16, as it would
// run on an RTX 3060; small models for CUDA graphs (0069). Launches are counted on the fake card,
// bytes and arithmetic by the Program; seconds are the card's figures, never measured. The tables
// are printed; what the decisions rest on is held.
#include <gtest/gtest.h>

#include <cstdio>

#include "backend/cuda/cuda_target.h"
#include "card_run.h"
#include "emulator/card.h"
#include "fit/rates.h"
#include "plan/run_plan.h"

namespace snug {
namespace {

config::Config gpt2_config() {
  config::Config config;  // the defaults are GPT-2 124M
  config.batch_size = config.eval_batch_size = 12;
  config.eval_block_size = config.block_size;
  config.dtype = "bfloat16";
  return config;
}

// A micro-step on a card, as figures have it.
class MicroStep {
 public:
  explicit MicroStep(const config::Config& config = gpt2_config(), std::int64_t vocabulary = 50304,
                     const char* card = "rtx3060")
      : plan_(plan::plan_training(config, vocabulary, cuda::CudaTarget())),
        phase_(plan_->program.phase(program::PhaseKind::kMicroStep)),
        rates_(fit::card_rates(fit::card_named(card))) {}

  double seconds() const { return fit::phase_seconds(rates_, plan_->program, phase_); }
  // Of all ops of a definition: their seconds, and the bytes of one of their operands.
  template <class Definition>
  double seconds_of() const {
    double sum = 0;
    for_each<Definition>([&](std::size_t o, const Definition&) {
      sum += fit::op_seconds(rates_, plan_->program, phase_, o);
    });
    return sum;
  }
  template <class Definition, class Operand>
  double bytes_of(Operand Definition::*operand) const {
    double sum = 0;
    for_each<Definition>([&](std::size_t, const Definition& op) {
      sum += static_cast<double>(plan_->program.tensor((op.*operand).id).byte_count());
    });
    return sum;
  }
  double bytes_per_second() const { return 1 / rates_.of<ops::Gelu>().seconds_per_byte; }

 private:
  template <class Definition, class Visit>
  void for_each(Visit visit) const {
    for (std::size_t o = 0; o < phase_.ops.size(); ++o) {
      if (const auto* op = phase_.ops[o].as<Definition>()) visit(o, *op);
    }
  }

  std::unique_ptr<plan::RunPlan> plan_;
  const program::Phase& phase_;
  fit::Rates rates_;
};

// Started on the card by one more micro-step: kernels, products and copies. Layers of any width
// start the same.
std::uint64_t starts_of_a_micro_step(const config::Config& wanted = gpt2_config()) {
  config::Config config = on_card(wanted);
  config.n_head = 1;
  config.n_embd = 24;
  config.block_size = config.eval_block_size = 8;
  config.batch_size = config.eval_batch_size = 2;
  config.vocab_size = 61;
  const auto starts_of_iteration = [&](std::int64_t micro_steps) {
    config.gradient_accumulation_steps = micro_steps;
    CardRun run(config);
    const emulator::CardUse before = emulator::card_use();
    run.engine().step(0);
    run.engine().executor().wait();
    const emulator::CardUse after = emulator::card_use();
    return after.launches + after.matmuls + after.copies - before.launches - before.matmuls -
           before.copies;
  };
  return starts_of_iteration(2) - starts_of_iteration(1);
}

double told(const char* what, double seconds, double of) {
  std::printf("%-58s %8.2f ms  %5.2f%%\n", what, 1e3 * seconds, 100 * seconds / of);
  return seconds / of;
}

TEST(LeftOut, IsWorthWhatTheDecisionSays) {
  const MicroStep step;
  const double whole = step.seconds(), rate = step.bytes_per_second();
  told("a micro-step", whole, whole);
  // Forward GELU in an epilogue: the product's result is not read again.
  EXPECT_LT(
      told("GELU in the epilogue: reads of its input", step.bytes_of(&ops::Gelu::x) / rate, whole),
      0.015);
  // Backward: the gradient is neither written by the product nor read again.
  EXPECT_LT(told("dGELU in the epilogue: its gradient, written and read",
                 2 * step.bytes_of(&ops::GeluBackward::dy) / rate, whole),
            0.03);
  const double tokens = 12.0 * 1024 * 8;
  EXPECT_LT(told("the next batch copied beside the step (12 GB/s)", tokens / 12e9, whole), 1e-4);
  const std::uint64_t starts = starts_of_a_micro_step();
  std::printf("%-58s %8llu\n", "kernels, products and copies of a micro-step",
              static_cast<unsigned long long>(starts));
  EXPECT_LT(told("the host's time for them at 5 us, beside the card's work", 5e-6 * double(starts),
                 whole),
            0.01);
  EXPECT_LT(
      told("attention, forward and backward",
           step.seconds_of<ops::Attention>() + step.seconds_of<ops::AttentionBackward>(), whole),
      0.25);
}

// nanoGPT's config/train_shakespeare_char.py, and its README's variant for a notebook.
config::Config shakespeare_config() {
  config::Config config;
  config.n_layer = config.n_head = 6;
  config.n_embd = 384;
  config.block_size = config.eval_block_size = 256;
  config.batch_size = config.eval_batch_size = 64;
  config.dropout = 0.2;
  config.dtype = "bfloat16";
  return config;
}
config::Config notebook_config() {
  config::Config config = shakespeare_config();
  config.n_layer = config.n_head = 4;
  config.n_embd = 128;
  config.block_size = config.eval_block_size = 64;
  config.batch_size = config.eval_batch_size = 12;
  config.dropout = 0;
  return config;
}

// Graphs pay where the host starts kernels about as slowly as the card runs them.
TEST(LeftOut, GraphsPayForToysOnly) {
  constexpr double kStart = 5e-6;  // seconds of the host's for one
  for (const char* card : {"rtx3060", "rtx4070", "rtx4090"}) {
    const auto share = [&](const char* what, const config::Config& config) {
      const double seconds = MicroStep(config, 65, card).seconds();
      const std::uint64_t starts = starts_of_a_micro_step(config);
      std::printf("%-8s %-26s %4llu starts %7.2f ms of the host's, %8.2f ms of the card's\n", card,
                  what, static_cast<unsigned long long>(starts), 1e3 * kStart * double(starts),
                  1e3 * seconds);
      return kStart * double(starts) / seconds;
    };
    EXPECT_LT(share("shakespeare_char 64 x 256", shakespeare_config()), 0.1);
    EXPECT_GT(share("4 x 128, 12 x 64", notebook_config()), 0.5);
  }
}

}  // namespace
}  // namespace snug
