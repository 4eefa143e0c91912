// The fit as a person meets it: the verdict and its exit code, the budget's parts, phases and
// times.
#include "cli/fit_testing.h"

namespace snug {
namespace {

class CliFitPlan : public CliFitTest {};

TEST_F(CliFitPlan, TheVerdictTurnsAtTheLastByte) {
  for (const Words& settings : {on_card(), tiny()}) {
    const std::int64_t total = total_of(plan(settings));
    const Json fits = plan(settings + budget(total));
    EXPECT_EQ(fits.at("verdict"), "fits_with_less_than_5_percent_to_spare");
    EXPECT_EQ(fits.at("budget_bytes"), total);
    EXPECT_EQ(total_of(fits), total);
    const Json does_not = plan(settings + budget(total - 1));
    EXPECT_EQ(does_not.at("verdict"), "does_not_fit");
    EXPECT_FALSE(does_not.at("fits").get<bool>());
    EXPECT_EQ(total_of(does_not), total);
  }
}

TEST_F(CliFitPlan, LessThanFivePercentToSpareIsSaid) {
  const std::int64_t total = total_of(plan(on_card()));
  const Words tight = on_card(budget(total * 100 / 96)),
              roomier = on_card(budget(total * 100 / 94));
  EXPECT_EQ(plan(tight).at("verdict"), "fits_with_less_than_5_percent_to_spare");
  EXPECT_EQ(plan(roomier).at("verdict"), "fits");
  EXPECT_EQ(lines_like(plan_text(tight), "  Barely fits\\.  Needs .*").size(), 1u);
  EXPECT_EQ(lines_like(plan_text(roomier), "  Fits\\.  Needs .*").size(), 1u);
  EXPECT_EQ(lines_like(plan_text(on_card(budget(total - 1))), "  Does not fit\\.  Needs .*").size(),
            1u);
}

TEST_F(CliFitPlan, HeadroomTurnsAFitIntoANonFit) {
  const std::int64_t total = total_of(plan(on_card()));
  const std::int64_t have = total * 105 / 100;
  const Words settings = on_card(budget(have));
  EXPECT_TRUE(plan(settings).at("fits").get<bool>());
  const Json share = plan(settings + Words{"--headroom=10%"});
  EXPECT_FALSE(share.at("fits").get<bool>());
  EXPECT_EQ(share.at("budget").at("headroom_bytes"), have / 10);
  EXPECT_EQ(share.at("budget").at("usable_bytes"), have - have / 10);
  EXPECT_EQ(share.at("budget_bytes"), have - have / 10);
  const Words amount = {"--headroom=" + std::to_string(have - total)};
  EXPECT_TRUE(plan(settings + amount).at("fits").get<bool>());
  const Words one_more = {"--headroom=" + std::to_string(have - total + 1)};
  EXPECT_FALSE(plan(settings + one_more).at("fits").get<bool>());
  expect_holds(plan_text(settings + Words{"--headroom=10%"}), {"Does not fit.", "headroom"});
}

TEST_F(CliFitPlan, TheMachinesBudgetIsAShareOrWhatIsFree) {
  const Json share = plan(tiny({"--memory_budget=80%"})).at("budget");
  EXPECT_EQ(share.at("origin"), "memory_budget");
  const auto memory = share.at("memory_bytes").get<double>();
  EXPECT_NEAR(share.at("usable_bytes").get<double>(), 0.8 * memory, 1);
  const Json automatic = plan(tiny({"--memory_budget=auto"}));
  EXPECT_EQ(automatic.at("device"), "cpu");
  const Json& parts = automatic.at("budget");
  EXPECT_EQ(parts.at("origin").get<std::string>().rfind("available now", 0), 0u) << parts;
  EXPECT_GT(parts.at("usable_bytes").get<std::int64_t>(), 0);
  EXPECT_LE(parts.at("usable_bytes").get<std::int64_t>(), parts.at("memory_bytes"));
  for (const char* key : {"display_bytes", "headroom_bytes"}) EXPECT_EQ(parts.at(key), 0) << key;
  EXPECT_EQ(parts.at("context_bytes"), (Json{{"low", 0}, {"high", 0}}));
}

TEST_F(CliFitPlan, ACardsBudgetAddsUp) {
  const Json json = plan(on_card({"--headroom=512MiB"}));
  EXPECT_EQ(json.at("device"), "rtx3060");
  EXPECT_EQ(json.at("config").at("dtype"), "bfloat16");
  const Json& parts = json.at("budget");
  const auto bytes = [&](const char* key) { return parts.at(key).get<std::int64_t>(); };
  const Json& context = parts.at("context_bytes");
  EXPECT_EQ(bytes("memory_bytes") - bytes("display_bytes") -
                context.at("high").get<std::int64_t>() - bytes("headroom_bytes"),
            bytes("usable_bytes"));
  EXPECT_EQ(bytes("usable_bytes"), json.at("budget_bytes"));
  EXPECT_LE(bytes("memory_bytes"), 12 * kGiB);
  EXPECT_GT(bytes("memory_bytes"), 11 * kGiB);
  EXPECT_GT(bytes("display_bytes"), 0);
  EXPECT_EQ(bytes("headroom_bytes"), 512 * kMiB);
  EXPECT_GT(context.at("low").get<std::int64_t>(), 0);
  EXPECT_LT(context.at("low").get<std::int64_t>(), context.at("high").get<std::int64_t>());
  expect_holds(plan_text(on_card({"--headroom=512MiB"})),
               {"the GeForce RTX 3060 has", "display", "CUDA's context",
                "0.50 GiB of it stay free as headroom"});
  // A share is one of the card's memory.
  const Json share = plan(on_card({"--memory_budget=50%"})).at("budget");
  EXPECT_EQ(share.at("usable_bytes"), bytes("memory_bytes") / 2);
}

TEST_F(CliFitPlan, ThePhasesThatPeopleForgetAreInThePlan) {
  const Json json = plan(on_card());
  std::int64_t largest = 0;
  for (const char* phase : {"resume", "evaluate", "train", "update", "save", "sample"}) {
    const std::int64_t bytes = json.at("phases").at(phase);
    EXPECT_GT(bytes, 0) << phase;
    largest = std::max(largest, bytes);
  }
  EXPECT_EQ(largest, json.at("arena_bytes"));
}

TEST_F(CliFitPlan, TimesAreRangesAroundWhatIsExpected) {
  const Json time = plan(on_card()).at("time");
  for (const char* key :
       {"iteration_seconds", "evaluation_seconds", "run_seconds", "tokens_per_second"}) {
    const Json& range = time.at(key);
    EXPECT_GT(range.at("low").get<double>(), 0) << key;
    EXPECT_LT(range.at("low").get<double>(), range.at("expected").get<double>()) << key;
    EXPECT_LT(range.at("expected").get<double>(), range.at("high").get<double>()) << key;
  }
}

TEST_F(CliFitPlan, ACardIsPlannedInA16BitTypeThatItHas) {
  const auto dtypes = [](const Json& json) {
    std::set<std::string> found;
    for (const Json& tensor : json.at("largest")) {
      if (tensor.at("role") == "activations") found.insert(tensor.at("dtype").get<std::string>());
    }
    return found;
  };
  const Words old_card = {"--card=t4"};
  const Json old_plan = plan(on_card(old_card));
  EXPECT_EQ(old_plan.at("device"), "t4");
  EXPECT_EQ(old_plan.at("config").at("dtype"), "float16");
  EXPECT_EQ(dtypes(old_plan).count("float16"), 1u) << old_plan.at("largest");
  EXPECT_EQ(dtypes(old_plan).count("bfloat16"), 0u) << old_plan.at("largest");
  EXPECT_EQ(dtypes(plan(on_card())).count("bfloat16"), 1u);
  EXPECT_EQ(plan(on_card({"--dtype=float32"})).at("config").at("dtype"), "float32");
  // Who asks for what the card has not is told.
  const ProgramResult asked = run(Words{"plan"} + on_card(old_card + Words{"--dtype=bfloat16"}));
  EXPECT_EQ(asked.exit_code, 0) << asked.err;
  expect_holds(asked.out, {"Tesla T4 has no bfloat16", "float16"});
}

TEST_F(CliFitPlan, ACardWithoutFast16BitArithmeticIsPlannedAsWhatItIs) {
  for (const char* card : {"gtx1080ti", "k80", "p40"}) {
    const Words on_it = on_card({std::string("--card=") + card});
    EXPECT_EQ(plan(on_it).at("config").at("dtype"), "float32") << card;
    expect_holds(plan_text(on_it), {"has no fast 16-bit arithmetic", "float32"});
  }
  const Words asked = on_card({"--card=gtx1080ti", "--dtype=float16"});
  EXPECT_EQ(plan(asked).at("config").at("dtype"), "float16");
  expect_holds(plan_text(asked), {"float16 saves memory, not time"});
}

TEST_F(CliFitPlan, ACardSaysWhetherThisBuildTrainsOnIt) {
  const Json json = plan(on_card());
  const std::string state = json.at("trainable");
  const std::string text = plan_text(on_card());
  if (state == "no_cuda_backend") {
    expect_holds(text, {"This build cannot train on it: it has no CUDA backend"});
  } else {
    EXPECT_EQ(state, "compiled_not_yet_run_on_hardware");
    expect_holds(text, {"not yet been run on hardware"});
  }
  EXPECT_EQ(plan(tiny()).at("trainable"), "yes");
  EXPECT_EQ(plan_text(tiny()).find("This build"), std::string::npos);
}

TEST_F(CliFitPlan, AnEmulatedCardIsCalledOne) {
  const Words emulated = tiny({"--device=emulated", "--card=rtx3060"});
  const ProgramResult result = run(Words{"plan"} + emulated);
  if (result.err.find("no emulator") != std::string::npos) GTEST_SKIP() << result.err;
  expect_holds(result.out, {"planned for an emulated NVIDIA GeForce RTX 3060: ",
                            "This card is emulated", "pinned on the host"});
  EXPECT_EQ(result.out.find("of this machine"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("no CUDA backend"), std::string::npos) << result.out;
  const Json json = plan(emulated);
  EXPECT_EQ(json.at("trainable"), "emulated");
  EXPECT_GT(json.at("pinned_host_bytes").get<std::int64_t>(), 0);
  EXPECT_EQ(plan(tiny()).at("pinned_host_bytes"), 0);
}

TEST_F(CliFitPlan, ACardOfASizeIsEnough) {
  const Json json = plan(on_card({"--card=12GiB"}));
  EXPECT_EQ(json.at("device"), "12gib");
  EXPECT_EQ(json.at("budget").at("memory_bytes"), plan(on_card()).at("budget").at("memory_bytes"));
  expect_holds(plan_text(on_card({"--card=12GiB"})), {"only the memory is known", "12 GiB card"});
}

TEST_F(CliFitPlan, AMarginIsKeptOnACard) {
  const Json json = plan(on_card());
  const Json& parts = json.at("budget");
  EXPECT_TRUE(parts.at("headroom_is_default").get<bool>());
  const auto bytes = [&](const char* key) { return parts.at(key).get<double>(); };
  EXPECT_NEAR(bytes("headroom_bytes"), 0.05 * bytes("limit_bytes"), 1);
  EXPECT_NEAR(bytes("usable_bytes") + bytes("headroom_bytes"), bytes("limit_bytes"), 1);
  expect_holds(plan_text(on_card()), {"leave 5% of that free"});
  EXPECT_EQ(plan(on_card({"--headroom=0%"})).at("budget").at("headroom_bytes"), 0);
}

TEST_F(CliFitPlan, CardsThatCannotBeMeantAreExitCode2) {
  expect_error(run(Words{"plan"} + tiny({"--card=rtx3060"})), 2, {"rtx3060", "device = 'cpu'"});
  expect_error(run(Words{"plan"} + on_card({"--card=rtx3061"})), 2,
               {"rtx3061", "did you mean rtx3060?", "snug cards", "--card=12GiB"});
  expect_error(run(Words{"plan"} + on_card({"--card=a100"})), 2, {"a100-40gb", "a100-80gb"});
  expect_error(run(Words{"plan"} + on_card({"--card=?"})), 2, {"'?'", "snug cards"});
}

TEST_F(CliFitPlan, CudaWithoutACardSaysForWhichItIsPlanned) {
  const ProgramResult text = run(Words{"plan"} + tiny({"--device=cuda"}));
  EXPECT_EQ(text.exit_code, 0) << text.err;
  expect_holds(text.out, {"no card is named", "RTX 3060", "--card=NAME"});
  EXPECT_EQ(plan(tiny({"--device=cuda"})).at("device"), "rtx3060");
}

TEST_F(CliFitPlan, EvaluationSizesDriveEvaluation) {
  const auto phases = [&](const Words& more) { return plan(tiny(more)).at("phases"); };
  const Json base = phases({});
  const Json larger = phases({"--eval_batch_size=32"}), shorter = phases({"--eval_block_size=4"});
  const auto evaluate = [](const Json& of) { return of.at("evaluate").get<std::int64_t>(); };
  EXPECT_GT(evaluate(larger), evaluate(base));
  EXPECT_LT(evaluate(shorter), evaluate(base));
  for (const Json& other : {larger, shorter}) EXPECT_EQ(other.at("train"), base.at("train"));
  // As many sequences in other batches give the same losses; shorter ones do not.
  const auto losses = [&](const Words& more) {
    return evaluations(train(more + Words{"--eval_only=True"}).out);
  };
  ASSERT_EQ(losses({}).size(), 1u);
  EXPECT_EQ(losses({}), losses({"--eval_batch_size=3"}));
  EXPECT_NE(losses({}), losses({"--eval_block_size=4"}));
}

TEST_F(CliFitPlan, HeadroomBeyondTheBudgetAddsUpOrIsRefused) {
  const ProgramResult result = run(Words{"plan", "--json"} + on_card({"--headroom=20GiB"}));
  if (result.exit_code == 2) return expect_error(result, 2, {"headroom", "20GiB"});
  const Json parts = parsed_json(result.out).at("budget");
  const auto bytes = [&](const char* key) { return parts.at(key).get<std::int64_t>(); };
  EXPECT_EQ(bytes("memory_bytes") - bytes("display_bytes") -
                parts.at("context_bytes").at("high").get<std::int64_t>() - bytes("headroom_bytes"),
            bytes("usable_bytes"));
}

}  // namespace
}  // namespace snug
