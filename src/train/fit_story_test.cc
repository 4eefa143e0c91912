#include "train/fit_story.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "fit/fit_testing.h"
#include "fit/fixes.h"
#include "report/plan/fix_text.h"

namespace snug::train {
namespace {

using Json = nlohmann::json;
using Lines = std::vector<std::string>;

class FitStory : public testing::Test {
 protected:
  // What --fit does where `share` of the need may be used.
  fit::FitOutcome fit(double share, const std::vector<std::string>& more = {}) {
    config::LoadedConfig loaded = fit::small_loaded(more);
    const auto total = static_cast<double>(planner_.plan(loaded.values)->total_bytes());
    const fit::Budget budget = fit::plain_budget(static_cast<std::int64_t>(share * total),
                                                 fit::BudgetSource::kMemoryBudget, "0%");
    const fit::FitOutcome outcome =
        fit::apply_fix(loaded, fit::find_fixes(planner_, loaded, budget), budget.usable_bytes);
    state_.config_json = config::config_to_json(loaded.values);
    return outcome;
  }
  static Lines at_start(const Lines& lines) {
    Lines told;
    for (const std::string& line : lines) told.push_back("when this run started, " + line);
    return told;
  }

  fit::PretendTarget target_;
  fit::Planner planner_{target_, 101, fit::pretend_rates()};
  checkpoint::TrainingState state_;
};

TEST_F(FitStory, TellsEveryOutcomeAsItWasSaid) {
  for (const double share : {0.001, 0.3, 0.7, 50.0}) {
    for (const std::vector<std::string>& more : {std::vector<std::string>{},
                                                 {"--dtype=float32"},
                                                 {"--eval_batch_size=40"},
                                                 {"--safest=True"},
                                                 {"--optimizer_dtype=float32"}}) {
      const fit::FitOutcome outcome = fit(share, more);
      remember_fit(state_, outcome, false);
      EXPECT_EQ(fit_story(state_), at_start(report::fit_lines(outcome, false))) << state_.fits_json;
    }
  }
}

TEST_F(FitStory, IsData) {
  const fit::FitOutcome outcome = fit(0.7);
  ASSERT_EQ(outcome.kind, fit::FitOutcome::Kind::kChanged);
  remember_fit(state_, outcome, false);
  const Json fits = Json::parse(state_.fits_json);
  ASSERT_EQ(fits.size(), 1U);
  EXPECT_EQ(fits[0].at("outcome"), "changed");
  EXPECT_EQ(fits[0].at("usable_bytes"), outcome.usable_bytes);
  EXPECT_EQ(fits[0].at("set").size(), outcome.fix.changes.size());
  for (const Json& key : fits[0].at("set")) {
    EXPECT_NE(fits[0].at("before").at(key.get<std::string>()),
              fits[0].at("after").at(key.get<std::string>()));
  }
}

TEST_F(FitStory, OfLaterFitsWhatTheyChangedIfThatIsNew) {
  const fit::FitOutcome first = fit(0.7), second = fit(0.9);
  ASSERT_TRUE(first.has_changed() && second.has_changed());
  ASSERT_NE(report::fit_changes_line(first), report::fit_changes_line(second));
  remember_fit(state_, first, false);
  Lines story = fit_story(state_);
  state_.iteration = 40;
  remember_fit(state_, first, true);
  EXPECT_EQ(fit_story(state_), story);
  remember_fit(state_, fit::FitOutcome{}, true);  // fits as it is
  EXPECT_EQ(fit_story(state_), story);
  remember_fit(state_, second, true);
  story.push_back("at iteration 40, " + report::fit_changes_line(second));
  EXPECT_EQ(fit_story(state_), story);
  state_.iteration = 60;
  remember_fit(state_, first, true);
  story.push_back("at iteration 60, " + report::fit_changes_line(first));
  EXPECT_EQ(fit_story(state_), story);
}

// As the first version wrote it: the first fit's lines, then what later ones changed.
TEST_F(FitStory, ReadsTheTextsOfAnOlderSnug) {
  const fit::FitOutcome first = fit(0.7), second = fit(0.9);
  state_.iteration = 40;
  state_.fit_texts = report::fit_lines(first, false);
  Lines story = at_start(report::fit_lines(first, false));
  EXPECT_EQ(fit_story(state_), story);
  remember_fit(state_, first, true);
  EXPECT_EQ(state_.fits_json, "[]");
  state_.fit_texts.push_back("at iteration 20, " + report::fit_changes_line(second));
  story.push_back(state_.fit_texts.back());
  EXPECT_EQ(fit_story(state_), story);
  remember_fit(state_, second, true);
  EXPECT_EQ(state_.fits_json, "[]");
  remember_fit(state_, first, true);
  story.push_back("at iteration 40, " + report::fit_changes_line(first));
  EXPECT_EQ(fit_story(state_), story);
}

// Of a newer Snug, or damaged: such a record is not told, and is no reason to refuse the run.
TEST_F(FitStory, PassesOverRecordsThatMakeNoSense) {
  remember_fit(state_, fit(0.7), false);
  state_.iteration = 60;
  remember_fit(state_, fit(0.9), true);
  const Json good = Json::parse(state_.fits_json);
  const Lines story = fit_story(state_);
  ASSERT_EQ(good.size(), 2u);
  const std::vector<std::pair<const char*, Json>> changes = {
      {"/1/outcome", "perhaps"},
      {"/1/outcome", 3},
      {"/1/kind", "magic"},
      {"/1/effect", "none"},
      {"/1/iteration", "four"},
      {"/1/before", Json()},
      {"/1/before", {{"batch_size", "many"}}},
      {"/1/set", "all"},
      {"/1/time_ratio", "x"}};
  for (const auto& [pointer, value] : changes) {
    Json bad = good;
    bad[Json::json_pointer(pointer)] = value;
    state_.fits_json = bad.dump();
    EXPECT_EQ(fit_story(state_), Lines(story.begin(), story.end() - 1)) << pointer << " " << value;
    EXPECT_EQ(Json::parse(state_.fits_json), bad);  // and stays in the file
  }
}

}  // namespace
}  // namespace snug::train
