#include "report/plan/fix_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/bytes.h"
#include "fit/fit_testing.h"
#include "fit/fixes.h"

namespace snug::report {
namespace {

class FixText : public testing::Test {
 protected:
  std::vector<std::string> names_at(double share, const std::vector<std::string>& more = {}) {
    loaded_ = fit::small_loaded(more);
    const auto total = static_cast<double>(planner_.plan(loaded_.values)->total_bytes());
    budget_ = fit::plain_budget(static_cast<std::int64_t>(share * total),
                                fit::BudgetSource::kMemoryBudget, "0%");
    fixes_ = fit::find_fixes(planner_, loaded_, budget_);
    std::vector<std::string> names;
    for (const fit::Fix& fix : fixes_.ranked)
      names.push_back(fix_name(Language::kEnglish, fixes_.before, fix));
    return names;
  }
  static bool holds(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  fit::PretendTarget target_;
  fit::Planner planner_{target_, 101, fit::pretend_rates()};
  config::LoadedConfig loaded_;
  fit::Budget budget_;
  fit::Fixes fixes_;
};

TEST_F(FixText, EveryRowHasItsName) {
  const std::vector<std::string> names = names_at(0.5);
  for (const char* name :
       {"batch 8, accumulate 3", "batch 6, accumulate 4", "batch 4, accumulate 6",
        "batch 3, accumulate 8", "batch 2, accumulate 12", "batch 1, accumulate 24",
        "checkpoint all blocks", "evaluate 32 tokens long", "optimizer state bfloat16",
        "batch 6, accumulate 2", "block_size 32"}) {
    EXPECT_TRUE(holds(names, name) ||
                fix_name(Language::kEnglish, fixes_.before, *fixes_.chosen) == name)
        << name;
  }
  EXPECT_FALSE(holds(names, "batch 5, accumulate 5"));
  EXPECT_EQ(fix_name(Language::kEnglish, fixes_.before, *fixes_.safest), "safest");
  const auto begins = [&](const char* text) {
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return name.starts_with(text); });
  };
  EXPECT_TRUE(begins("n_layer "));
  EXPECT_TRUE(begins("n_embd "));
}

TEST_F(FixText, ACombinationNamesEachOfItsParts) {
  fit::Fix fix;
  config::Config before = fit::small_loaded().values;
  fix.config = before;
  fix.config.batch_size = fix.config.eval_batch_size = 8;
  fix.config.gradient_accumulation_steps = 3;
  EXPECT_EQ(fix_name(Language::kEnglish, before, fix), "batch 8, accumulate 3");
  fix.config.eval_batch_size = 2;
  fix.config.checkpoint_blocks = 3;
  fix.config.recompute_light = false;
  fix.config.loss_chunk = 64;
  fix.config.optimizer_dtype = "bfloat16";
  fix.config.dtype = "float16";
  EXPECT_EQ(fix_name(Language::kEnglish, before, fix),
            "batch 8, accumulate 3, checkpoint 3 of 4 blocks, recompute nothing, loss chunk 64, "
            "evaluate 2 at once, optimizer state bfloat16, dtype float16");
  fix.config = before;
  fix.changes = {{"threads", "1", "2"}};  // what no part names
  EXPECT_EQ(fix_name(Language::kEnglish, before, fix), "threads 2");
}

TEST_F(FixText, WhereNothingFitsRowsStandOnTheSafest) {
  const std::vector<std::string> names = names_at(0.001);
  EXPECT_TRUE(holds(names, "safest"));
  EXPECT_TRUE(holds(names, "safest, optimizer state bfloat16"));
  EXPECT_NE(largest_part_text(Language::kEnglish, fixes_.safest_largest)
                .find("optimizer state alone takes"),
            std::string::npos)
      << largest_part_text(Language::kEnglish, fixes_.safest_largest);
  EXPECT_EQ(largest_part_text(Language::kEnglish, {Role::kWeights, 3 * kMiB}),
            "weights alone take 3.00 MiB of it");
  EXPECT_EQ(largest_part_text(Language::kEnglish, {std::nullopt, 3 * kMiB}),
            "the program itself takes up to 3.00 MiB of it");
}

TEST_F(FixText, AFitSaysWhatItChangedAndWhy) {
  names_at(0.7);
  const fit::FitOutcome outcome = fit::apply_fix(loaded_, fixes_, budget_.usable_bytes);
  ASSERT_TRUE(outcome.has_changed());
  const std::vector<std::string> lines = fit_lines(outcome, false);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(lines[0].starts_with(
      "fit: " + fix_name(Language::kEnglish, fixes_.before, *fixes_.chosen) + ": needs "))
      << lines[0];
  EXPECT_EQ(lines[1], "fit: the trained weights stay the same, bit for bit");
  EXPECT_EQ(fit_lines(outcome, true)[1], "fit: the same training");
  EXPECT_EQ(lines[2], fit_changes_line(outcome));
  fit::FitOutcome none;
  EXPECT_EQ(fit_lines(none, false).size(), 1U);
  none.kind = fit::FitOutcome::Kind::kNothingFits;
  EXPECT_EQ(fit_lines(none, false).front(), "fit: nothing that keeps the effective batch fits");
  const std::vector<std::string> german = fit_lines(outcome, false, Language::kGerman);
  EXPECT_NE(german[0].find("braucht"), std::string::npos) << german[0];
  EXPECT_EQ(german[1], "fit: Die trainierten Gewichte bleiben Bit für Bit gleich");
}

}  // namespace
}  // namespace snug::report
