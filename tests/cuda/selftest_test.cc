// The self-test on a card that fails: what goes wrong is named, and the rest is still tested.
#include "device/selftest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/float16.h"
#include "card_run.h"
#include "device/op_bounds.h"
#include "emulator/card.h"
#include "plan/run_plan.h"

namespace snug {
namespace {

class FailingCard : public testing::Test {
 protected:
  FailingCard() { config_.device = "emulated"; }
  ~FailingCard() override { emulator::insert_card(emulator::CardSettings{}); }

  // `order` is given to the card once it is open.
  template <class Order>
  device::Selftest run(const Order& order) {
    emulator::insert_card(emulator::card_by_name("rtx3060"));
    const device::CudaDevice card(config_);
    order();
    return device::run_selftest(card, config_, device::SelftestShapes::kReduced,
                                [](std::string_view) {});
  }
  static const device::SelftestRow& row(const device::Selftest& result, std::string_view op,
                                        DType precision = DType::kF32) {
    return *std::ranges::find_if(result.rows, [&](const device::SelftestRow& each) {
      return each.op == op && each.precision == device::SelftestPrecision{precision};
    });
  }

  config::Config config_ = small_config();
};

// One product fails: its op is named, all others pass, each as often as ever.
TEST_F(FailingCard, AnOpThatThrowsIsNamedAndTheRestGoesOn) {
  const device::Selftest result = run([] { emulator::fail_matmul_after(3); });
  EXPECT_FALSE(result.passed());
  EXPECT_EQ(result.lost, "");
  const device::SelftestRow& linear = row(result, "linear");
  EXPECT_NE(linear.failure.find("h.0.mlp.c_proj, 1 x 203 tokens"), std::string::npos)
      << linear.failure;
  EXPECT_NE(linear.failure.find("cuBLASLt failed"), std::string::npos) << linear.failure;
  EXPECT_TRUE(linear.apart.is_within()) << "the others of its kind are right";
  EXPECT_GT(linear.compared, 20);
  for (const device::SelftestRow& each : result.rows) {
    EXPECT_TRUE(&each == &linear || each.passed()) << each.op << each.apart.at << each.failure;
  }
  EXPECT_EQ(result.trainings.size(), 10u);
  EXPECT_TRUE(std::ranges::all_of(result.trainings, &device::SelftestTraining::passed));
}

// One product of some hundred is off by a hundredth: its row fails, and the ops after it go on from
// the processor's numbers.
TEST_F(FailingCard, AWrongNumberFailsItsRowAlone) {
  const device::Selftest result = run([] { emulator::spoil_matmul_after(3); });
  EXPECT_FALSE(result.passed());
  const device::SelftestRow& linear = row(result, "linear");
  EXPECT_NEAR(linear.apart.found, 0.01, 0.002);
  EXPECT_LT(linear.apart.bound, 1e-4);
  EXPECT_NE(linear.apart.at.find("h.0.mlp.c_proj"), std::string::npos) << linear.apart.at;
  for (const device::SelftestRow& each : result.rows) {
    EXPECT_TRUE(&each == &linear || each.passed()) << each.op << each.apart.at << each.failure;
    const bool is_float = each.precision == device::SelftestPrecision{DType::kF32};
    EXPECT_LT(each.apart.bound, is_float ? 1e-3 : 0.05) << each.op << " is held to nothing";
  }
}

// Products that cut their results off are off by a unit at most, which rounding otherwise may be,
// too: only that all are off to one side tells. What has no 16-bit product passes.
TEST_F(FailingCard, CuttingOffInsteadOfRoundingIsSeen) {
  const device::Selftest result = run([] { emulator::truncate_matmuls(); });
  EXPECT_FALSE(result.passed());
  for (const device::SelftestRow& each : result.rows) {
    const bool is_cut =
        each.precision.dtype != DType::kF32 && (each.op == "linear" || each.op == "linear_dx");
    EXPECT_EQ(each.passed(), !is_cut) << each.op << each.precision.name() << each.drift.at;
    EXPECT_TRUE(each.apart.is_within()) << each.op << ": no single number tells";
  }
}

// Tensor cores cut off where they add up, as every real one does: no row fails for that.
TEST_F(FailingCard, SumsThatAreCutOffAsOnCardsPass) {
  const device::Selftest result = run([] { emulator::cut_off_sums(); });
  EXPECT_TRUE(result.passed());
  for (const device::SelftestRow& each : result.rows) {
    EXPECT_TRUE(each.passed()) << each.op << each.precision.name() << each.apart.at << each.drift.at
                               << each.failure;
  }
  EXPECT_GT(row(result, "linear_dw", DType::kBF16).drift.found, 1e-8) << "they were cut off";
}

// Nothing can be bound that multiplies: every other op is tested from the processor's numbers.
TEST_F(FailingCard, OpsThatCannotBeBoundAreRowsToo) {
  const device::Selftest result =
      run([] { emulator::set_known_products(emulator::KnownProducts::kNone); });
  EXPECT_FALSE(result.passed());
  for (const char* op : {"linear", "linear_dx", "linear_dw"}) {
    EXPECT_NE(row(result, op).failure.find("cuBLASLt has no product"), std::string::npos);
    EXPECT_EQ(row(result, op).compared, 0);
  }
  for (const char* op : {"attention_backward", "layernorm_backward", "adamw", "cross_entropy"}) {
    EXPECT_TRUE(row(result, op).passed()) << op;
    EXPECT_GT(row(result, op).compared, 0) << op;
  }
}

TEST_F(FailingCard, AfterTheCardIsLostTheRestIsListed) {
  const device::Selftest result =
      run([] { emulator::lose_card_after(300, cudaErrorIllegalAddress); });
  EXPECT_FALSE(result.passed());
  EXPECT_NE(result.lost.find("cudaErrorIllegalAddress"), std::string::npos) << result.lost;
  EXPECT_FALSE(result.rows.empty()) << "what was tested before is told";
  EXPECT_GT(result.not_run.size(), 20u);
}

// What the host writes is there for the next op: a copy from pageable memory may still be under way
// when the call returns, and the executor's stream waits for no other.
TEST_F(FailingCard, WhatIsWrittenIsThereForTheNextOp) {
  emulator::insert_card(emulator::card_by_name("rtx3060"));
  const device::CudaDevice card(config_);
  const auto planned = plan::plan_training(config_, 61, card.target());
  const auto executor = cuda::make_executor(card.open_card(), planned->program, planned->plan, {});
  const program::Phase& begin = planned->program.phase(program::PhaseKind::kBeginIteration);
  const auto zero =
      std::ranges::find_if(begin.ops, [](const ops::Op& op) { return op.is<ops::Zero>(); });
  ASSERT_NE(zero, begin.ops.end());
  const TensorId cleared = zero->as<ops::Zero>()->tensors.ids.front();
  emulator::set_stream_mode(emulator::StreamMode::kLazy);
  std::vector<float> values(4, 7.0f);
  cuda::write_bytes(*executor, cleared, 0, std::as_bytes(std::span(values)));
  cuda::run_op(*executor, begin, static_cast<std::size_t>(zero - begin.ops.begin()), {}, {0, 0});
  cuda::read_bytes(*executor, cleared, 0, std::as_writable_bytes(std::span(values)));
  emulator::set_stream_mode(emulator::StreamMode::kEager);
  EXPECT_EQ(values, std::vector<float>(4, 0.0f)) << "written over what the op had cleared";
}

// Rounded to the nearest, 16-bit numbers are off as often up as down; cut off, all are off to zero,
// shifted bits of a negative number are off down.
TEST(OpBounds, ADriftIsToldFromRounding) {
  constexpr std::size_t kRows = 64, kWidth = 100;
  std::vector<Bf16> exact, off, cut, down;
  for (std::size_t i = 0; i < kRows * kWidth; ++i) {
    const auto x = static_cast<float>(std::sin(1.7 * static_cast<double>(i * i % 10007)));
    exact.push_back(nearest<Bf16>(x));
    off.push_back(nearest<Bf16>(x * (1 + 2e-3f * static_cast<float>(std::cos(3.1 * double(i))))));
    cut.push_back(Bf16{static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16)});
    down.push_back(x < 0 ? nearest<Bf16>(x * (1 + 0x1p-9f)) : cut.back());
  }
  const auto standard_errors = [&](const std::vector<Bf16>& card) {
    const device::Drift drift = device::drift_of(
        std::as_bytes(std::span(card)), std::as_bytes(std::span(exact)), DType::kBF16, kWidth);
    return std::abs(drift.mean) / drift.error;
  };
  EXPECT_LT(standard_errors(off), 4);
  EXPECT_GT(standard_errors(cut), 6);
  EXPECT_GT(standard_errors(down), 6);
}

// Differences that a whole column shares, such as a bias's rounding, are no drift.
TEST(OpBounds, WhatAColumnSharesIsNoDrift) {
  constexpr std::size_t kRows = 200, kWidth = 40;
  std::vector<float> here, card;
  for (std::size_t i = 0; i < kRows * kWidth; ++i) {
    const auto shared = static_cast<float>(std::sin(2.3 * static_cast<double>(i % kWidth)));
    here.push_back(1.0f + 0.5f * static_cast<float>(std::sin(1.1 * static_cast<double>(i))));
    card.push_back(here.back() + 1e-3f * (shared + 0.3f));
  }
  const device::Drift drift = device::drift_of(std::as_bytes(std::span(card)),
                                               std::as_bytes(std::span(here)), DType::kF32, kWidth);
  EXPECT_LT(std::abs(drift.mean), 6 * drift.error);
}

// Losses are one number a row: of a single column, as of a single row, numbers are compared alone.
TEST(OpBounds, ADriftIsSeenInASingleColumnAndInASingleRow) {
  constexpr std::int64_t kCount = 200;
  std::vector<float> here, off, above;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const auto number = static_cast<double>(i);
    const auto error = static_cast<float>(std::cos(3.1 * number));
    here.push_back(1.0f + 0.5f * static_cast<float>(std::sin(1.1 * number)));
    off.push_back(here.back() + 1e-3f * error);
    above.push_back(here.back() + 1e-3f * (error + 1));
  }
  for (const std::int64_t width : {std::int64_t{1}, kCount}) {
    const auto standard_errors = [&](const std::vector<float>& card) {
      const device::Drift drift = device::drift_of(
          std::as_bytes(std::span(card)), std::as_bytes(std::span(here)), DType::kF32, width);
      return std::abs(drift.mean) / drift.error;
    };
    EXPECT_LT(standard_errors(off), 4) << width;
    EXPECT_GT(standard_errors(above), 6) << width;
  }
}

// What is not finite is `difference`'s to tell, by an infinite one.
TEST(OpBounds, NumbersThatAreNotFiniteHaveNoDrift) {
  const std::vector<float> here(12, 1.0f);
  for (const float wrong : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    std::vector<float> card = here;
    card[5] = wrong;
    const device::Drift drift = device::drift_of(std::as_bytes(std::span(card)),
                                                 std::as_bytes(std::span(here)), DType::kF32, 4);
    EXPECT_EQ(drift.mean, 0) << wrong;
    EXPECT_EQ(drift.error, 0) << wrong;
  }
}

// A single wrong number among many is seen.
TEST(OpBounds, DifferencesAreThoseOfTheWorst) {
  std::vector<float> here(40 * 64, 0);
  for (std::size_t i = 0; i < here.size(); ++i) here[i] = std::sin(static_cast<float>(i));
  std::vector<float> card = here;
  const auto apart = [&] {
    return device::difference(std::as_bytes(std::span(card)), std::as_bytes(std::span(here)),
                              DType::kF32, 64);
  };
  EXPECT_EQ(apart(), 0);
  card[700] += 1e-3f;
  EXPECT_NEAR(apart(), 1e-3, 1e-5);
  // A row of small numbers is measured by its own.
  for (std::size_t i = 640; i < 704; ++i) here[i] *= 0.01f, card[i] = here[i];
  card[700] += 1e-3f;
  EXPECT_NEAR(apart(), 0.1, 1e-2);
  card[700] = NAN;
  EXPECT_EQ(apart(), HUGE_VAL);
}

}  // namespace
}  // namespace snug
