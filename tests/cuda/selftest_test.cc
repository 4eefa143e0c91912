// The self-test on a card that fails: what goes wrong is named, and the rest is still tested.
#include "device/selftest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "card_run.h"
#include "device/op_bounds.h"
#include "emulator/card.h"

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
      return each.op == op && each.precision == precision;
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
  EXPECT_LE(linear.worst, linear.bound) << "the others of its kind are right";
  EXPECT_GT(linear.compared, 20);
  for (const device::SelftestRow& each : result.rows) {
    EXPECT_TRUE(&each == &linear || each.passed()) << each.op << each.worst_at << each.failure;
  }
  EXPECT_EQ(result.trainings.size(), 9u);
  EXPECT_TRUE(std::ranges::all_of(result.trainings, &device::SelftestTraining::passed));
}

// One product of some hundred is off by a hundredth: its row fails, and the ops after it go on from
// the processor's numbers.
TEST_F(FailingCard, AWrongNumberFailsItsRowAlone) {
  const device::Selftest result = run([] { emulator::spoil_matmul_after(3); });
  EXPECT_FALSE(result.passed());
  const device::SelftestRow& linear = row(result, "linear");
  EXPECT_NEAR(linear.worst, 0.01, 0.002);
  EXPECT_LT(linear.bound, 1e-4);
  EXPECT_NE(linear.worst_at.find("h.0.mlp.c_proj"), std::string::npos) << linear.worst_at;
  for (const device::SelftestRow& each : result.rows) {
    EXPECT_TRUE(&each == &linear || each.passed()) << each.op << each.worst_at << each.failure;
    const bool is_float = each.precision == DType::kF32;
    EXPECT_LT(each.bound, is_float ? 1e-3 : 0.05) << each.op << " is held to nothing";
  }
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
