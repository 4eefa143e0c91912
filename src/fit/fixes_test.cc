#include "fit/fixes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"
#include "fit/fit_testing.h"

namespace snug::fit {
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
  config::Config by_hand(const Fix& fix) const {
    std::vector<std::string> arguments;
    for (const config::Change& change : fix.changes) {
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
  config::LoadedConfig loaded_;
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
        const config::Config typed = by_hand(fix);
        EXPECT_EQ(config::config_to_json(typed), config::config_to_json(fix.config))
            << name_of(fix.kind);
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
  EXPECT_EQ(config::config_to_json(fixes.ranked.front().config),
            config::config_to_json(fixes.chosen->config));
  bool others = false, fitting = true;
  for (const Fix& fix : fixes.ranked) {
    if (fitting && !fix.fits) others = fitting = false;  // then the same again
    EXPECT_EQ(fix.fits, fitting) << "what fits comes first: " << name_of(fix.kind);
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
  // What fits comes first, and of that what was chosen.
  ASSERT_EQ(fixes.chosen_at, 0u);
  EXPECT_EQ(fixes.ranked.front().total_bytes(), fixes.chosen->total_bytes());
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
  const config::LoadedConfig typed =
      small_loaded({"--dtype=bfloat16", "--n_embd=1024", "--block_size=512"});
  config::Config sixteen = in_bf16->config;
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

TEST_F(FixList, SpareMemoryIsUsedToTheFullAndNoFurther) {
  const Fixes fixes = at(3, {"--checkpoint_blocks=2"});
  ASSERT_TRUE(fixes.fits_as_is);
  given_ = {"--checkpoint_blocks=2"};
  std::vector<FixKind> kinds;
  for (const Fix& use : fixes.spare) {
    kinds.push_back(use.kind);
    EXPECT_TRUE(use.fits) << name_of(use.kind);
    EXPECT_EQ(config::config_to_json(by_hand(use)), config::config_to_json(use.config))
        << name_of(use.kind);
    EXPECT_EQ(planner_.plan(use.config)->total_bytes(), use.total_bytes()) << name_of(use.kind);
  }
  EXPECT_EQ(kinds, (std::vector{FixKind::kLessRecomputing, FixKind::kLargerBatch,
                                FixKind::kLongerContext, FixKind::kMoreLayers}));
  EXPECT_EQ(fixes.spare[0].config.checkpoint_blocks, 0);
  EXPECT_EQ(fixes.spare[1].effective_batch, 24);
  config::Config longer = fixes.spare[2].config, deeper = fixes.spare[3].config;
  longer.block_size *= 2;
  longer.eval_block_size = longer.block_size;
  deeper.n_layer += 1;
  EXPECT_GT(planner_.plan(longer)->total_bytes(), budget_.usable_bytes);
  EXPECT_GT(planner_.plan(deeper)->total_bytes(), budget_.usable_bytes);
}

TEST_F(FixList, NothingIsSpareWhereNothingFits) {
  EXPECT_TRUE(at(0.9).spare.empty());
  EXPECT_TRUE(
      at(1.0, {"--batch_size=24", "--gradient_accumulation_steps=1", "--recompute_light=False"})
          .spare.empty());
}

TEST_F(FixList, APretrainedModelIsOfferedInASmallerSize) {
  loaded_ = config::load_config(
      config::Command::kPlan,
      std::vector<std::string>{"--init_from=gpt2-medium", "--batch_size=1", "--device=cuda",
                               "--gradient_accumulation_steps=32"});
  const Planner planner(target_, 50257, pretend_rates());
  const Fixes fixes =
      find_fixes(planner, loaded_, plain_budget(4 * kGiB, BudgetSource::kCard, "0%"));
  EXPECT_FALSE(fixes.fits_as_is);
  const auto offered = [&](const char* model) {
    return std::any_of(fixes.ranked.begin(), fixes.ranked.end(), [&](const Fix& fix) {
      return fix.kind == FixKind::kSmallerPretrained && fix.fits && fix.config.init_from == model;
    });
  };
  EXPECT_TRUE(offered("gpt2"));
  EXPECT_TRUE(fixes.ranked.front().fits);
}

TEST_F(FixList, WhatIsNoiseIsNoReasonToChange) {
  loaded_ = small_loaded({"--checkpoint_blocks=4", "--recompute_light=True"});
  const Budget roomy = plain_budget(kGiB, BudgetSource::kMemoryBudget, "0%");
  ASSERT_TRUE(find_fixes(planner_, loaded_, roomy).chosen);
  Rates noisy = pretend_rates();
  noisy.noise = 2.5;
  const Planner busy(target_, kVocabulary, noisy);
  EXPECT_FALSE(find_fixes(busy, loaded_, roomy).chosen);
}

TEST(BudgetTest, ACardKeepsAMarginUnlessAskedOtherwise) {
  const Card& card = card_named("rtx3060");
  const Budget none = card_budget(card, "auto", "0%"), budget = card_budget(card, "auto", "auto");
  EXPECT_TRUE(budget.headroom_is_default);
  EXPECT_EQ(budget.limit_bytes(), none.usable_bytes);
  EXPECT_NEAR(static_cast<double>(budget.headroom_bytes),
              0.05 * static_cast<double>(none.usable_bytes), 1);
  EXPECT_EQ(verdict_of(budget.usable_bytes, budget), Verdict::kFits);
  EXPECT_EQ(verdict_of(budget.usable_bytes + 2, budget), Verdict::kBarelyFits);
  EXPECT_EQ(verdict_of(budget.limit_bytes(), budget), Verdict::kBarelyFits);
  EXPECT_EQ(verdict_of(budget.limit_bytes() + 1, budget), Verdict::kDoesNotFit);
  EXPECT_EQ(card_budget(card, "8GiB", "auto").usable_bytes, 8 * kGiB);
  EXPECT_EQ(plain_budget(1000, BudgetSource::kAvailable, "auto").usable_bytes, 1000);
  const Budget asked = card_budget(card, "auto", "10%");
  EXPECT_EQ(verdict_of(asked.usable_bytes + 1, asked), Verdict::kDoesNotFit);
}

TEST_F(FixList, AFolderCalledLikeGpt2IsNoneOfOpenAIs) {
  EXPECT_EQ(find_fix(at(0.5, {"--init_from=gpt2-mine/ckpt.pt"}), FixKind::kSmallerPretrained),
            nullptr);
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
}  // namespace snug::fit
