// What decision 0050 leaves out, by count: GPT-2 124M, 12 x 1024 tokens in bfloat16, as it would
// run on an RTX 3060. Launches are counted on the fake card, bytes and arithmetic by the Program;
// seconds are the card's figures, never measured. The table is printed; what the decision rests on
// is held.
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

// A micro-step of GPT-2 on a card, as figures have it.
class MicroStep {
 public:
  MicroStep()
      : plan_(plan::plan_training(gpt2_config(), 50304, cuda::CudaTarget())),
        phase_(plan_->program.phase(program::PhaseKind::kMicroStep)) {}

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
  fit::Rates rates_ = fit::card_rates(fit::card_named("rtx3060"));
};

// Started on the card by one more micro-step: kernels, products and copies. Twelve layers of any
// width start the same.
std::uint64_t starts_of_a_micro_step() {
  config::Config config = on_card(gpt2_config());
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

}  // namespace
}  // namespace snug
