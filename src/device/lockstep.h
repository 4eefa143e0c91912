// One program on a card and on the processor, op by op from the same numbers: after every op what
// it wrote is compared, and both go on with the same numbers. So an op's row in the self-test tells
// of that op alone, or of the two where the card runs it with the one before.
#pragma once

#include "backend/cpu/cpu_executor.h"
#include "device/selftest.h"
#include "plan/run_plan.h"

namespace snug::device {

// Thrown when the card can do nothing more for this process.
struct LostCard {
  std::string reason;
};

class Lockstep {
 public:
  // `where` describes the shapes; results go to `rows`. Everything must outlive this. The card's
  // executor is one that refuses late.
  Lockstep(const plan::RunPlan& card_run, backend::Executor& card, const plan::RunPlan& cpu_run,
           cpu::CpuExecutor& processor, std::string where, SelftestPrecision precision,
           std::vector<SelftestRow>& rows);

  // Runs the phase on both. What an op throws becomes its row's failure, and the card goes on with
  // the processor's numbers. Throws LostCard.
  void run(program::PhaseKind kind, const backend::StepContext& context);
  // The load phase, with each side's own way to its weights.
  void load();
  // Tokens, and targets where the phase has some, on both.
  void write_tokens(program::PhaseKind kind, std::int64_t vocabulary, std::uint32_t batch);

 private:
  struct Pair {
    const program::Phase &card, &cpu;
    std::size_t card_op, cpu_op;
    backend::RowRange rows;

    const ops::Op& op() const { return card.ops[card_op]; }
  };
  void clear();
  void run_pair(const Pair& pair, const backend::StepContext& context,
                const backend::StepContext& cpu_context);
  bool run_on_card(const Pair& pair, const backend::StepContext& context);
  void settle(const Pair& pair, bool card_ran);
  void compare(const Pair& pair, TensorId on_card, TensorId here, std::string_view operand,
               bool card_ran);
  std::int64_t elements_in_use(const Pair& pair, std::string_view operand, std::int64_t all) const;
  SelftestRow& row_of(const ops::Op& op);

  const plan::RunPlan &card_run_, &cpu_run_;
  backend::Executor& card_;
  cpu::CpuExecutor& processor_;
  const std::string where_;
  const SelftestPrecision precision_;
  std::vector<SelftestRow>& rows_;
  const ops::Op* failed_ = nullptr;  // the last op, if it failed on the card
  std::vector<std::byte> card_bytes_;
};

}  // namespace snug::device
