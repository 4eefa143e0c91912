#include "fit/fixes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"
#include "fit/fit_testing.h"

namespace snug {
namespace {

constexpr std::int64_t kVocabulary = 101;

class FixList : public testing::Test {
 protected:
  Fixes at(double share, const std::vector<std::string>& arguments = {}) {
    loaded_ = small_loaded(arguments);
    total_ = planner_.plan(loaded_.values)->total_bytes();
    budget_ = plain_budget(static_cast<std::int64_t>(share * static_cast<double>(total_)),
                           BudgetSource::kMemoryBudget, "0%");
    return find_fixes(planner_, loaded_, budget_);
  }
  // The config that someone gets who sets the changes by hand.
  Config by_hand(const Fix& fix) const {
    std::vector<std::string> arguments;
    for (const Change& change : fix.changes) {
      std::string value = change.after;
      std::erase(value, '\'');
      arguments.push_back("--" + change.key + "=" + value);
    }
    arguments.insert(arguments.begin(), given_.begin(), given_.end());
    return small_loaded(arguments).values;
  }
  static const Fix* find_fix(const Fixes& fixes, FixKind kind) {
    const auto at = std::find_if(fixes.ranked.begin(), fixes.ranked.end(),
                                 [&](const Fix& f) { return f.kind == kind; });
    return at == fixes.ranked.end() ? nullptr : &*at;
  }
  // Is there a row that splits the effective batch so and changes nothing else?
  static bool has_split(const Fixes& fixes, std::int64_t batch, std::int64_t steps) {
    return std::any_of(fixes.ranked.begin(), fixes.ranked.end(), [&](const Fix& f) {
      const bool is_alone = f.kind == FixKind::kSplit ||
                            (f.kind == FixKind::kCombination &&
                             f.config.checkpoint_blocks == fixes.before.checkpoint_blocks &&
                             f.config.recompute_light == fixes.before.recompute_light &&
                             f.config.loss_chunk == fixes.before.loss_chunk);
      return is_alone && f.effect == Effect::kSame && f.config.batch_size == batch &&
             f.config.gradient_accumulation_steps == steps;
    });
  }

  std::vector<std::string> given_;
  PretendTarget target_;
  Planner planner_{target_, kVocabulary, pretend_rates()};
  LoadedConfig loaded_;
  Budget budget_;
  std::int64_t total_ = 0;
};

// The numbers of every row are those of the run that someone starts who types its changes.
TEST_F(FixList, RowsAreWhatTheirChangesGive) {
  for (const std::vector<std::string>& given : {std::vector<std::string>{},
                                                {"--grad_checkpoint=True"},
                                                {"--effective_batch=24"},
                                                {"--eval_batch_size=5"},
                                                {"--recompute_light=False", "--dtype=float32"}}) {
    given_ = given;
    for (const double share : {0.01, 0.3, 0.8, 2.0}) {
      const Fixes fixes = at(share, given);
      ASSERT_GT(fixes.ranked.size(), 5u);
      for (const Fix& fix : fixes.ranked) {
        const Config typed = by_hand(fix);
        EXPECT_EQ(config_to_json(typed), config_to_json(fix.config)) << name_of(fix.kind);
        EXPECT_EQ(fix.total_bytes(), planner_.plan(typed)->total_bytes()) << name_of(fix.kind);
        EXPECT_EQ(fix.saved_bytes, total_ - fix.total_bytes()) << name_of(fix.kind);
        EXPECT_EQ(fix.fits, fix.total_bytes() <= budget_.usable_bytes) << name_of(fix.kind);
        EXPECT_EQ(fix.effective_batch, typed.batch_size * typed.gradient_accumulation_steps);
      }
    }
  }
}

TEST_F(FixList, SameResultComesFirstAndHoldsTheEffectiveBatch) {
  const Fixes fixes = at(0.7);
  ASSERT_TRUE(fixes.chosen);
  EXPECT_TRUE(fixes.chosen->fits);
  EXPECT_TRUE(fixes.chosen->same_result());
  EXPECT_EQ(fixes.chosen_at, 0u);
  EXPECT_EQ(config_to_json(fixes.ranked.front().config), config_to_json(fixes.chosen->config));
  bool others = false;
  for (const Fix& fix : fixes.ranked) {
    if (!fix.same_result()) others = true;
    EXPECT_FALSE(others && fix.same_result()) << name_of(fix.kind);
    if (!fix.same_result()) continue;
    EXPECT_EQ(fix.effective_batch, 24) << name_of(fix.kind);
    // Nothing that fits and keeps the result is faster than the chosen one.
    EXPECT_TRUE(!fix.fits || fix.time_ratio >= fixes.chosen->time_ratio) << name_of(fix.kind);
  }
  EXPECT_TRUE(others);
}

TEST_F(FixList, EverySplitIsThere) {
  const Fixes fixes = at(0.7);
  for (const std::int64_t batch : {8, 6, 4, 3, 2, 1}) {
    EXPECT_TRUE(has_split(fixes, batch, 24 / batch)) << batch;
  }
  EXPECT_FALSE(has_split(fixes, 5, 5));
}

TEST_F(FixList, MarksWhatChangesTraining) {
  const Fixes fixes = at(0.5);
  const Fix* const fewer = find_fix(fixes, FixKind::kFewerSequences);
  ASSERT_NE(fewer, nullptr);
  EXPECT_EQ(fewer->effect, Effect::kFewerSequences);
  EXPECT_EQ(fewer->config.batch_size, 6);
  EXPECT_EQ(fewer->config.gradient_accumulation_steps, 2);
  const Fix* const shorter = find_fix(fixes, FixKind::kShorterContext);
  ASSERT_NE(shorter, nullptr);
  EXPECT_EQ(shorter->effect, Effect::kShorterContext);
  EXPECT_EQ(shorter->config.block_size, 32);
  const Fix* const rounded = find_fix(fixes, FixKind::kOptimizer16);
  ASSERT_NE(rounded, nullptr);
  EXPECT_EQ(rounded->effect, Effect::kRounding);
  EXPECT_EQ(rounded->config.optimizer_dtype, "bfloat16");
  const auto smaller = std::count_if(fixes.ranked.begin(), fixes.ranked.end(), [](const Fix& f) {
    return f.effect == Effect::kSmallerModel;
  });
  EXPECT_EQ(smaller, 2);
}

TEST_F(FixList, RoundsOnlyWhenNothingElseFits) {
  Fixes fixes = at(10);
  const std::int64_t smallest = fixes.safest->total_bytes();
  loaded_ = small_loaded();
  const Budget below = plain_budget(smallest - 1, BudgetSource::kMemoryBudget, "0%");
  fixes = find_fixes(planner_, loaded_, below);
  ASSERT_TRUE(fixes.chosen);
  EXPECT_EQ(fixes.chosen->effect, Effect::kRounding);
  EXPECT_EQ(fixes.chosen->config.optimizer_dtype, "bfloat16");
  EXPECT_EQ(fixes.chosen->effective_batch, 24);
  // What keeps the result comes first, fitting or not.
  ASSERT_GT(fixes.chosen_at.value_or(0), 0u);
  for (std::size_t i = 0; i < *fixes.chosen_at; ++i) {
    EXPECT_TRUE(fixes.ranked[i].same_result()) << name_of(fixes.ranked[i].kind);
  }
  EXPECT_EQ(fixes.ranked[*fixes.chosen_at].total_bytes(), fixes.chosen->total_bytes());
  loaded_.values.safest = true;
  EXPECT_TRUE(fix_to_apply(fixes, loaded_.values)->fits);
}

TEST_F(FixList, ADtypeIsTimedWithItsOwnRates) {
  loaded_ = small_loaded({"--dtype=float32", "--n_embd=1024", "--block_size=512"});
  const Fixes fixes =
      find_fixes(planner_, loaded_, plain_budget(1, BudgetSource::kMemoryBudget, "0%"));
  const auto in_bf16 = std::find_if(fixes.ranked.begin(), fixes.ranked.end(),
                                    [](const Fix& f) { return f.config.dtype == "bfloat16"; });
  ASSERT_NE(in_bf16, fixes.ranked.end());
  const LoadedConfig typed =
      small_loaded({"--dtype=bfloat16", "--n_embd=1024", "--block_size=512"});
  Config sixteen = in_bf16->config;
  sixteen.dtype = "float32";
  EXPECT_LT(planner_.iteration_seconds(typed.values),
            0.8 * planner_.iteration_seconds(loaded_.values));
  EXPECT_LT(planner_.iteration_seconds(in_bf16->config), 0.8 * planner_.iteration_seconds(sixteen));
}

TEST_F(FixList, APrecisionThatWasTypedStays) {
  const std::int64_t smallest = at(10).safest->total_bytes();
  loaded_ = small_loaded({"--optimizer_dtype=float32"});
  const Fixes fixes =
      find_fixes(planner_, loaded_, plain_budget(smallest - 1, BudgetSource::kMemoryBudget, "0%"));
  EXPECT_FALSE(fixes.chosen);
  EXPECT_FALSE(fixes.chosen_at);
}

TEST_F(FixList, SaysWhenNothingFits) {
  const Fixes fixes = at(0.001);
  EXPECT_FALSE(fixes.chosen);
  EXPECT_FALSE(fixes.fits_as_is);
  EXPECT_GT(fixes.safest->total_bytes(), budget_.usable_bytes);
  EXPECT_EQ(fixes.safest_largest.role, Role::kOptimizerState);
  EXPECT_GT(fixes.safest_largest.bytes, 0);
}

TEST_F(FixList, LeavesAloneWhatFitsAndIsFast) {
  const Fixes fixes = at(1.0, {"--batch_size=24", "--gradient_accumulation_steps=1"});
  EXPECT_TRUE(fixes.fits_as_is);
  EXPECT_FALSE(fixes.chosen);
  EXPECT_FALSE(fix_to_apply(fixes, loaded_.values));
}

TEST_F(FixList, SafestIsTheSmallestOfThemAll) {
  const Fixes fixes = at(0.5);
  for (const Fix& fix : fixes.ranked) {
    EXPECT_TRUE(fix.effect != Effect::kSame || fix.total_bytes() >= fixes.safest->total_bytes());
  }
  loaded_.values.safest = true;
  EXPECT_EQ(fix_to_apply(fixes, loaded_.values)->total_bytes(), fixes.safest->total_bytes());
}

TEST_F(FixList, EvaluationAloneOnlyShrinksEvaluation) {
  const Fixes fixes = at(0.8, {"--eval_only=True", "--eval_batch_size=64"});
  ASSERT_TRUE(fixes.chosen);
  ASSERT_EQ(fixes.chosen->changes.size(), 1u);
  EXPECT_EQ(fixes.chosen->changes[0].key, "eval_batch_size");
}

TEST(BudgetTest, CardLessDisplayContextAndHeadroom) {
  const Card& card = card_named("rtx3060");
  const Budget budget = card_budget(card, "auto", "10%");
  const std::int64_t before =
      budget.memory_bytes - budget.display_bytes - budget.context.high_bytes;
  EXPECT_EQ(budget.memory_bytes, card.reported_mib * kMiB);
  EXPECT_GT(budget.context.high_bytes, budget.context.low_bytes);
  EXPECT_EQ(budget.headroom_bytes, before / 10);
  EXPECT_EQ(budget.usable_bytes, before - before / 10);
  EXPECT_EQ(card_budget(card, "50%", "0%").usable_bytes, card.reported_mib * kMiB / 2);
  // No budget makes a card larger.
  EXPECT_EQ(card_budget(card, "50GiB", "0%").usable_bytes,
            budget.memory_bytes - budget.context.high_bytes);
  EXPECT_EQ(card_budget(card, "8GiB", "1GiB").usable_bytes, 7 * kGiB);
  EXPECT_EQ(plain_budget(kGiB, BudgetSource::kMemoryBudget, "1GiB").usable_bytes, 0);
  EXPECT_THROW(plain_budget(kGiB, BudgetSource::kMemoryBudget, "2GiB"), ConfigError);
}

TEST(BudgetTest, Verdicts) {
  const Budget budget = plain_budget(1000, BudgetSource::kMemoryBudget, "0%");
  EXPECT_EQ(verdict_of(1001, budget), Verdict::kDoesNotFit);
  EXPECT_EQ(verdict_of(1000, budget), Verdict::kBarelyFits);
  EXPECT_EQ(verdict_of(951, budget), Verdict::kBarelyFits);
  EXPECT_EQ(verdict_of(950, budget), Verdict::kFits);
}

}  // namespace
}  // namespace snug
