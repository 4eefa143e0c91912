// `snug train --fit`, which changes nothing but memory.
#include "cli/fit_testing.h"

namespace snug {
namespace {

class CliFitTrain : public CliFitTest {};

TEST_F(CliFitTrain, TrainRefusesWithTheTable) {
  const std::int64_t total = total_of(plan(roomy()));
  const ProgramResult refused = run(Words{"train"} + roomy(budget(total - 1)));
  const std::string need = std::to_string(total) + " bytes";
  expect_error(refused, 3,
               {"does not fit", need.c_str(), "largest part", "Fixes, best first",
                "--fit applies ▸; by hand: --", "snug plan"});
  const std::string split = "  .* batch [0-9]+, accumulate [0-9]+ .* same bits";
  EXPECT_FALSE(lines_like(refused.err, split).empty()) << refused.err;
  EXPECT_EQ(refused.out.find("iter 0"), std::string::npos) << refused.out;
  EXPECT_FALSE(exists("out"));
  // Headroom counts here too.
  const Words enough = roomy(budget(total) + Words{"--max_iters=0"});
  EXPECT_EQ(run(Words{"train"} + enough).exit_code, 0);
  expect_error(run(Words{"train"} + enough + Words{"--headroom=1%"}), 3, {"does not fit"});
}

TEST_F(CliFitTrain, FitTrainsTheSameWeightsInLessMemory) {
  const Words large_evaluation = {"--eval_batch_size=48"};
  for (const Words& more : {Words{}, large_evaluation}) {
    const Json as_it_is = plan(roomy(more));
    const std::int64_t bytes = between(as_it_is);
    const std::string out_dir = more.empty() ? "fitted" : "fitted_evaluation";
    const ProgramResult whole =
        run(Words{"train"} + roomy(more + Words{"--out_dir=whole" + out_dir}));
    ASSERT_EQ(whole.exit_code, 0) << whole.err;
    const ProgramResult fitted =
        run(Words{"train"} + roomy(more + budget(bytes) + Words{"--fit", "--out_dir=" + out_dir}));
    ASSERT_EQ(fitted.exit_code, 0) << fitted.err;
    EXPECT_EQ(model(out_dir), model("whole" + out_dir));
    EXPECT_EQ(weights_and_optimizer(out_dir), weights_and_optimizer("whole" + out_dir));
    EXPECT_EQ(evaluations(fitted.out).size(), 3u) << fitted.out;
    EXPECT_EQ(evaluations(fitted.out), evaluations(whole.out));

    // What was said is what was done and what is stored.
    EXPECT_EQ(fit_lines(whole.out), Words{});
    const Words said = fit_lines(fitted.out);
    ASSERT_EQ(said.size(), 3u) << fitted.out;
    expect_holds(said[0], {"needs", "less", "time"});
    expect_holds(said[1], {"the same, bit for bit"});
    const Json stored = state(out_dir);
    EXPECT_EQ(stored.at("fit_changes"), Json::array());
    ASSERT_EQ(stored.at("fits").size(), 1u);
    const Json& fit = stored.at("fits")[0];
    EXPECT_EQ(fit.at("outcome"), "changed");
    EXPECT_EQ(changes_line(fit), said[2]);
    expect_holds(said[0], {("needs " + format_bytes(total_of(fit))).c_str()});
    EXPECT_LE(total_of(fit), fit.at("usable_bytes").get<std::int64_t>());
    const auto changes = changes_said(said);
    ASSERT_FALSE(changes.empty()) << said[2];
    for (const auto& [key, value] : changes) {
      EXPECT_EQ(python_text(stored.at("config").at(key)), value) << key;
      EXPECT_NE(python_text(as_it_is.at("config").at(key)), value) << key;
    }
    EXPECT_EQ(state("whole" + out_dir).at("fits"), Json::array());
    Json values = stored.at("config");
    for (auto at = values.begin(); at != values.end();) {
      at = changes.count(at.key()) == 1 ? std::next(at) : values.erase(at);
    }
    EXPECT_LE(total_of(plan(roomy(more + typed(values)))), bytes) << values;
  }
}

TEST_F(CliFitTrain, ResumeShowsTheFitAgainAndGoesOn) {
  const Words limited = roomy(budget(between(plan(roomy()))));
  const ProgramResult first = run(Words{"train"} + limited + Words{"--fit", "--max_iters=3"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const Words said = fit_lines(first.out);
  ASSERT_EQ(said.size(), 3u) << first.out;
  // In the same memory, then in all of it.
  const ProgramResult second =
      run(Words{"train"} + limited + Words{"--init_from=resume", "--max_iters=6"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  for (const std::string& line : said) {
    expect_holds(second.out, {("when this run started, " + line + "\n").c_str()});
  }
  EXPECT_FALSE(state("out").at("fits").empty());
  const ProgramResult third = run(Words{"train"} + roomy({"--init_from=resume"}));
  ASSERT_EQ(third.exit_code, 0) << third.err;
  for (const std::string& line : said) {
    expect_holds(third.out, {("when this run started, " + line + "\n").c_str()});
  }
  ASSERT_EQ(run(Words{"train"} + roomy({"--out_dir=whole"})).exit_code, 0);
  EXPECT_EQ(weights_and_optimizer("out"), weights_and_optimizer("whole"));
}

TEST_F(CliFitTrain, ResumeWithoutTheFitNeedsTheMemory) {
  const Words limited = roomy(budget(between(plan(roomy()))));
  ASSERT_EQ(run(Words{"train"} + limited + Words{"--fit", "--max_iters=3"}).exit_code, 0);
  expect_error(run(Words{"train"} + limited + Words{"--init_from=resume", "--fit=False"}), 3,
               {"does not fit", "Fixes, best first"});
}

TEST_F(CliFitTrain, FitThatIsNotNeededSaysSoOrWhy) {
  const ProgramResult plain = train({"--out_dir=plain"}), fitted = train({"--fit"});
  ASSERT_EQ(fitted.exit_code, 0) << fitted.err;
  const Words said = fit_lines(fitted.out);
  ASSERT_FALSE(said.empty()) << fitted.out;
  if (changes_said(said).empty()) {
    expect_holds(said[0], {"it fits as it is"});
  } else {
    expect_holds(said.back(), {"(faster)"});
  }
  EXPECT_EQ(weights_and_optimizer("out"), weights_and_optimizer("plain"));
  EXPECT_EQ(evaluations(fitted.out), evaluations(plain.out));
}

TEST_F(CliFitTrain, SafestTakesTheFewestBytesForTheSameWeights) {
  const Json as_it_is = plan(roomy());
  ASSERT_EQ(run(Words{"train"} + roomy({"--out_dir=plain"})).exit_code, 0);
  for (const Words& flags : {Words{"--safest"}, Words{"--fit", "--safest"}}) {
    const std::string out_dir = "with" + std::to_string(flags.size());
    const ProgramResult result = run(Words{"train"} + roomy(flags + Words{"--out_dir=" + out_dir}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const std::string need = format_bytes(total_of(as_it_is.at("safest")));
    expect_holds(result.out, {("memory: " + need + " planned").c_str(), "fit: safest"});
    EXPECT_EQ(state(out_dir).at("config").at("batch_size"), 1);
    EXPECT_EQ(state(out_dir).at("config").at("gradient_accumulation_steps"), 24);
    EXPECT_EQ(weights_and_optimizer(out_dir), weights_and_optimizer("plain"));
  }
}

TEST_F(CliFitTrain, FitThatCannotHelpIsExitCode3) {
  const Json as_it_is = plan(tiny({"--n_embd=64"}));
  // Enough for the program, which is smaller without oneDNN, too little for any setting of this
  // model.
  const Json narrow = plan(tiny({"--n_embd=64", "--dtype=bfloat16"}));
  const std::int64_t little = narrow.at("overhead_bytes").get<std::int64_t>() + 64 * kKiB;
  for (const char* fit : {"--fit", "--safest"}) {
    const ProgramResult result = train(Words{"--n_embd=64", fit} + budget(little));
    const std::string need = format_bytes(total_of(as_it_is.at("safest")));
    expect_error(result, 3,
                 {"does not fit", "Nothing that keeps the effective batch fits", "smallest need",
                  need.c_str(), "Fixes, best first"});
    expect_holds(fit_lines(result.out).at(0), {"nothing that keeps the effective batch fits"});
    expect_error(train({fit, "--memory_budget=1MiB"}), 3,
                 {"does not fit", "the program itself", "Fixes, best first", "smallest need"});
  }
  EXPECT_FALSE(exists("out"));
}

TEST_F(CliFitTrain, FitRoundsTheStateOnlyWhenNothingElseFits) {
  const Words wide = {"--n_embd=64"};
  const std::int64_t safest = total_of(plan(tiny(wide)).at("safest"));
  const ProgramResult same = train(wide + budget(safest) + Words{"--fit", "--out_dir=same"});
  ASSERT_EQ(same.exit_code, 0) << same.err;
  EXPECT_EQ(dtypes_of(read("same/latest/optimizer.safetensors")), std::set<std::string>{"F32"});
  const Words limited = wide + budget(safest - 1);
  const ProgramResult first = train(limited + Words{"--fit", "--max_iters=3"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  expect_holds(first.out, {"rounded otherwise", "optimizer_dtype 'float32' -> 'bfloat16'"});
  EXPECT_EQ(dtypes_of(read("out/latest/optimizer.safetensors")), std::set<std::string>{"BF16"});
  const ProgramResult resumed = train(limited + Words{"--init_from=resume"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  ASSERT_EQ(train(wide + Words{"--out_dir=whole", "--optimizer_dtype=bfloat16"}).exit_code, 0);
  EXPECT_EQ(weights_and_optimizer("out"), weights_and_optimizer("whole"));
}

TEST_F(CliFitTrain, LightRecomputationNeverChangesTheWeights) {
  const Words lively = {"--dropout=0.1", "--bias=True"};
  ASSERT_EQ(train(lively + Words{"--out_dir=light"}).exit_code, 0);
  const std::vector<Words> variants = {{}, {"--checkpoint_blocks=1"}, {"--grad_checkpoint=True"}};
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const std::string out_dir = "nothing" + std::to_string(i);
    const ProgramResult result =
        train(lively + variants[i] + Words{"--recompute_light=False", "--out_dir=" + out_dir});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(weights_and_optimizer(out_dir), weights_and_optimizer("light")) << i;
  }
  // It is another program, not a key without effect.
  EXPECT_GT(total_of(plan(roomy({"--recompute_light=False"}))), total_of(plan(roomy())));
}

TEST_F(CliFitTrain, AFitThatStartsWithAResumeIsStored) {
  ASSERT_EQ(run(Words{"train"} + roomy({"--max_iters=3"})).exit_code, 0);
  const Words limited = roomy(budget(between(plan(roomy()))) + Words{"--init_from=resume"});
  const ProgramResult fitted = run(Words{"train"} + limited + Words{"--fit", "--max_iters=6"});
  ASSERT_EQ(fitted.exit_code, 0) << fitted.err;
  const std::string changed = "at iteration 4, " + fit_lines(fitted.out).back();
  const Json fits = state("out").at("fits");
  ASSERT_EQ(fits.size(), 1u);
  EXPECT_EQ(fits[0].at("iteration"), 4);
  EXPECT_EQ(fits[0].at("resumed"), true);
  EXPECT_EQ("at iteration 4, " + changes_line(fits[0]), changed);
  const ProgramResult last = run(Words{"train"} + limited);
  EXPECT_EQ(last.exit_code, 0) << last.err;
  expect_holds(last.out, {(changed + "\n").c_str()});
}

// Checkpoints of an older Snug have the lines themselves.
TEST_F(CliFitTrain, AResumeTellsTheStoryOfAnOlderCheckpoint) {
  const Words limited = roomy(budget(between(plan(roomy()))));
  const ProgramResult first = run(Words{"train"} + limited + Words{"--fit", "--max_iters=3"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const Words said = fit_lines(first.out);
  ASSERT_EQ(said.size(), 3u) << first.out;
  Json document = state("out");
  document.erase("fits");
  document["fit_changes"] = said;
  write_state("out", std::move(document));
  // A fit that changes the same is known; one that changes more is told after it.
  const ProgramResult second =
      run(Words{"train"} + limited + Words{"--init_from=resume", "--max_iters=6"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  for (const std::string& line : said) {
    expect_holds(second.out, {("when this run started, " + line + "\n").c_str()});
  }
  EXPECT_EQ(state("out").at("fit_changes").get<Words>(), said);
  EXPECT_EQ(state("out").at("fits").size(), fit_lines(second.out).back() == said.back() ? 0u : 1u);
  const ProgramResult third = run(Words{"train"} + roomy({"--init_from=resume", "--safest"}));
  ASSERT_EQ(third.exit_code, 0) << third.err;
  for (const std::string& line : said) {
    expect_holds(third.out, {("when this run started, " + line + "\n").c_str()});
  }
  EXPECT_EQ(state("out").at("fit_changes").get<Words>(), said);
  ASSERT_FALSE(state("out").at("fits").empty());
  EXPECT_EQ(changes_line(state("out").at("fits").back()), fit_lines(third.out).back());
}

// Nobody asked for another setting, and the first one's story stays.
TEST_F(CliFitTrain, AResumeThatFitsIsNotFittedAgain) {
  const Words limited = roomy(budget(between(plan(roomy()))));
  ASSERT_EQ(run(Words{"train"} + limited + Words{"--fit", "--max_iters=3"}).exit_code, 0);
  const Json story = state("out").at("fits");
  EXPECT_EQ(story.size(), 1u);
  const ProgramResult resumed = run(Words{"train"} + roomy({"--init_from=resume"}));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(fit_lines(resumed.out), Words{});
  EXPECT_EQ(state("out").at("fits"), story);
  EXPECT_EQ(state("out").at("config").at("batch_size"), 24);
}

TEST_F(CliFitTrain, APlanOfAResumeIsTheRunsPlan) {
  const Words limited = roomy(budget(between(plan(roomy()))));
  ASSERT_EQ(run(Words{"train"} + limited + Words{"--fit", "--max_iters=3"}).exit_code, 0);
  // The model is the checkpoint's, and what does not fit is fitted again.
  const Words resume = limited + Words{"--init_from=resume", "--n_layer=1"};
  const Json planned = plan(resume);
  EXPECT_EQ(planned.at("config").at("n_layer"), 4);
  EXPECT_TRUE(planned.at("fits").get<bool>());
  EXPECT_EQ(run(Words{"train"} + resume).exit_code, 0);
  expect_holds(plan_text(tiny({"--init_from=resume", "--out_dir=none"})),
               {"none holds no checkpoint to resume"});
}

// A run that starts does not count on memory that is not there.
TEST_F(CliFitTrain, ABudgetBeyondTheMachineIsNotBelieved) {
  const Words large = tiny({"--memory_budget=900000GiB", "--batch_size=4096", "--block_size=4096",
                            "--n_layer=64", "--n_embd=4096", "--n_head=32"});
  EXPECT_EQ(run(Words{"plan"} + large).exit_code, 0);
  expect_holds(plan_text(large), {"planned for a larger machine"});
  expect_error(run(Words{"train"} + large + Words{"--block_size=16"}), 3, {"does not fit"});
}

// The checkpoint's moments are in float32: no fit can round them.
TEST_F(CliFitTrain, AFitNeverContradictsTheCheckpoint) {
  const Words wide = {"--n_embd=64"};
  ASSERT_EQ(train(wide + Words{"--max_iters=3"}).exit_code, 0);
  // A new run would round its moments, which a checkpoint of float32 moments does not allow.
  const Words narrow = wide + Words{"--dtype=bfloat16"};
  const Words limited = wide + budget(total_of(plan(tiny(narrow)).at("safest")) - 1);
  const ProgramResult fresh = train(limited + Words{"--fit", "--out_dir=fresh"});
  EXPECT_EQ(fresh.exit_code, 0) << fresh.err;
  expect_error(train(limited + Words{"--init_from=resume", "--fit"}), 3, {"does not fit"});
}

TEST_F(CliFitTrain, ASafestRunIsResumedInItsMemory) {
  const Words limited = roomy(budget(between(plan(roomy()))));
  ASSERT_EQ(run(Words{"train"} + limited + Words{"--safest", "--max_iters=3"}).exit_code, 0);
  const ProgramResult resumed = run(Words{"train"} + limited + Words{"--init_from=resume"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
}

}  // namespace
}  // namespace snug
