// The fit as a person meets it: the verdict and its exit code, the budget's parts, the ranked fixes
// and whether they keep their word, the page, and `train --fit`, which changes nothing but memory.
#include <map>
#include <set>

#include "base/bytes.h"
#include "cli_testing.h"

namespace snug {
namespace {

using Json = nlohmann::json;

class CliFitTest : public CliTest {
 protected:
  // `plan --json` of these settings, whose exit code must say what `fits` says.
  Json plan(const Words& settings) const {
    const ProgramResult result = run(Words{"plan", "--json"} + settings);
    const Json json = Json::parse(result.out, nullptr, false);
    if (json.is_discarded()) {
      ADD_FAILURE() << "exit code " << result.exit_code << ", no JSON: " << result.err;
      return {{"total_bytes", 0}, {"safest", {{"total_bytes", 0}}}, {"fixes", Json::array()}};
    }
    EXPECT_EQ(result.exit_code, json.at("fits").get<bool>() ? 0 : 3) << result.err;
    EXPECT_EQ(result.err, "");
    return json;
  }
  std::string plan_text(const Words& settings) const { return run(Words{"plan"} + settings).out; }

  // Each fix, typed by hand, needs what the plan said of it.
  void expect_fixes_keep_their_word(const Words& settings) const;

  Json state(const std::string& out_dir) const {
    return Json::parse(read(out_dir + "/latest/state.json"));
  }
};

// Planned for a card, whose rates need no measuring. What is given comes last and wins.
Words on_card(const Words& more = {}) {
  return tiny(Words{"--device=auto", "--card=rtx3060"} + more);
}

// A model whose activations and logits can be told from a card's workspace.
Words long_context(const Words& more = {}) {
  return on_card(Words{"--n_layer=4", "--n_head=4", "--n_embd=64", "--block_size=128",
                       "--vocab_size=5000", "--batch_size=8"} +
                 more);
}

// Most of its arena are activations; trains in a second.
Words roomy(const Words& more = {}) {
  return tiny(
      Words{"--n_layer=4", "--n_embd=32", "--block_size=32", "--batch_size=24", "--dropout=0.1"} +
      more);
}

Words budget(std::int64_t bytes) { return {"--memory_budget=" + std::to_string(bytes)}; }

std::int64_t total_of(const Json& plan_or_fix) {
  return plan_or_fix.at("total_bytes").get<std::int64_t>();
}
// Too small for the config as it is, enough for the safest one.
std::int64_t between(const Json& plan) {
  return (total_of(plan) + total_of(plan.at("safest"))) / 2;
}

// As Python writes it, and as it is typed.
std::string python_text(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  return value.is_string() ? value.get<std::string>() : value.dump();
}
Words typed(const Json& changes) {
  Words words;
  for (const auto& [key, value] : changes.items()) {
    words.push_back("--" + key + "=" + python_text(value));
  }
  return words;
}

void CliFitTest::expect_fixes_keep_their_word(const Words& settings) const {
  const Json json = plan(settings);
  EXPECT_GE(json.at("fixes").size(), 3u);
  for (const Json& fix : json.at("fixes")) {
    const Json after = plan(settings + typed(fix.at("changes")));
    EXPECT_EQ(total_of(after), total_of(fix)) << fix;
    EXPECT_EQ(after.value("effective_batch", 0), fix.at("effective_batch")) << fix;
    EXPECT_EQ(after.value("fits", false), fix.at("fits")) << fix;
  }
}

// micro-batch -> accumulation of the fixes that change nothing else.
std::map<int, int> splits_of(const Json& plan) {
  std::map<int, int> splits;
  for (const Json& fix : plan.at("fixes")) {
    Json changes = fix.at("changes");
    changes.erase("eval_sequences");
    if (changes.size() != 2 || !fix.at("same_result").get<bool>()) continue;
    if (!changes.contains("gradient_accumulation_steps")) continue;
    EXPECT_TRUE(
        splits.emplace(changes.at("batch_size"), changes.at("gradient_accumulation_steps")).second)
        << fix;
  }
  return splits;
}

Words fit_lines(const std::string& out) { return lines_like(out, "fit: .*"); }
Words evaluations(const std::string& out) { return lines_like(out, "step [0-9]+: train loss .*"); }

// key -> value that the lines say was set: "fit: batch_size 24 -> 8, loss_chunk 0 -> 32".
std::map<std::string, std::string> changes_said(const Words& lines) {
  std::map<std::string, std::string> changes;
  const std::regex change("([a-z_]+) [^ ,]+ -> ([^ ,]+)");
  for (const std::string& line : lines) {
    for (std::sregex_iterator at(line.begin(), line.end(), change), end; at != end; ++at) {
      changes[(*at)[1]] = (*at)[2];
    }
  }
  return changes;
}

// The dtypes of a safetensors file.
std::set<std::string> dtypes_of(const std::string& file) {
  std::uint64_t length = 0;
  if (file.size() < sizeof length) return {};
  std::copy_n(file.data(), sizeof length, reinterpret_cast<char*>(&length));
  const Json header = Json::parse(file.substr(sizeof length, length));
  std::set<std::string> dtypes;
  for (const auto& [name, tensor] : header.items()) {
    if (name != "__metadata__") dtypes.insert(tensor.at("dtype").get<std::string>());
  }
  return dtypes;
}

// ---- The verdict and the budget.

TEST_F(CliFitTest, TheVerdictTurnsAtTheLastByte) {
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

TEST_F(CliFitTest, LessThanFivePercentToSpareIsSaid) {
  const std::int64_t total = total_of(plan(on_card()));
  const Words tight = on_card(budget(total * 100 / 96)),
              roomier = on_card(budget(total * 100 / 94));
  EXPECT_EQ(plan(tight).at("verdict"), "fits_with_less_than_5_percent_to_spare");
  EXPECT_EQ(plan(roomier).at("verdict"), "fits");
  EXPECT_EQ(lines_like(plan_text(tight), "  Fits, with less than 5% to spare\\.  Needs .*").size(),
            1u);
  EXPECT_EQ(lines_like(plan_text(roomier), "  Fits\\.  Needs .*").size(), 1u);
  EXPECT_EQ(lines_like(plan_text(on_card(budget(total - 1))), "  Does not fit\\.  Needs .*").size(),
            1u);
}

TEST_F(CliFitTest, HeadroomTurnsAFitIntoANonFit) {
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

TEST_F(CliFitTest, TheMachinesBudgetIsAShareOrWhatIsFree) {
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

TEST_F(CliFitTest, ACardsBudgetAddsUp) {
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
               {"the GeForce RTX 3060 has", "display", "CUDA's context", "0.50 headroom"});
  // A share is one of the card's memory.
  const Json share = plan(on_card({"--memory_budget=50%"})).at("budget");
  EXPECT_EQ(share.at("usable_bytes"), bytes("memory_bytes") / 2);
}

TEST_F(CliFitTest, ThePhasesThatPeopleForgetAreInThePlan) {
  const Json json = plan(on_card());
  std::int64_t largest = 0;
  for (const char* phase : {"load", "evaluate", "train", "update", "save", "sample"}) {
    const std::int64_t bytes = json.at("phases").at(phase);
    EXPECT_GT(bytes, 0) << phase;
    largest = std::max(largest, bytes);
  }
  EXPECT_EQ(largest, json.at("arena_bytes"));
}

TEST_F(CliFitTest, TimesAreRangesAroundWhatIsExpected) {
  const Json time = plan(on_card()).at("time");
  for (const char* key :
       {"iteration_seconds", "evaluation_seconds", "run_seconds", "tokens_per_second"}) {
    const Json& range = time.at(key);
    EXPECT_GT(range.at("low").get<double>(), 0) << key;
    EXPECT_LT(range.at("low").get<double>(), range.at("expected").get<double>()) << key;
    EXPECT_LT(range.at("expected").get<double>(), range.at("high").get<double>()) << key;
  }
}

TEST_F(CliFitTest, ACardIsPlannedInA16BitTypeThatItHas) {
  const auto dtypes = [](const Json& json) {
    std::set<std::string> found;
    for (const Json& tensor : json.at("largest")) {
      if (tensor.at("role") == "activations") found.insert(tensor.at("dtype").get<std::string>());
    }
    return found;
  };
  const Words old_card = {"--card=gtx1080ti"};
  const Json old_plan = plan(on_card(old_card));
  EXPECT_EQ(old_plan.at("device"), "gtx1080ti");
  EXPECT_EQ(old_plan.at("config").at("dtype"), "float16");
  EXPECT_EQ(dtypes(old_plan).count("float16"), 1u) << old_plan.at("largest");
  EXPECT_EQ(dtypes(old_plan).count("bfloat16"), 0u) << old_plan.at("largest");
  EXPECT_EQ(dtypes(plan(on_card())).count("bfloat16"), 1u);
  EXPECT_EQ(plan(on_card({"--dtype=float32"})).at("config").at("dtype"), "float32");
  // Who asks for what the card has not is told.
  const ProgramResult asked = run(Words{"plan"} + on_card(old_card + Words{"--dtype=bfloat16"}));
  EXPECT_EQ(asked.exit_code, 0) << asked.err;
  expect_holds(asked.out, {"GTX 1080 Ti has no bfloat16", "float16"});
}

TEST_F(CliFitTest, CardsThatCannotBeMeantAreExitCode2) {
  expect_error(run(Words{"plan"} + tiny({"--card=rtx3060"})), 2, {"rtx3060", "device = 'cpu'"});
  expect_error(run(Words{"plan"} + on_card({"--card=rtx3061"})), 2,
               {"rtx3061", "did you mean rtx3060?", "snug cards", "--memory_budget"});
  expect_error(run(Words{"plan"} + on_card({"--card=a100"})), 2, {"a100-40gb", "a100-80gb"});
  expect_error(run(Words{"plan"} + on_card({"--card=?"})), 2, {"'?'", "snug cards"});
}

TEST_F(CliFitTest, CudaWithoutACardSaysForWhichItIsPlanned) {
  const ProgramResult text = run(Words{"plan"} + tiny({"--device=cuda"}));
  EXPECT_EQ(text.exit_code, 0) << text.err;
  expect_holds(text.out, {"no card is named", "RTX 3060", "--card=NAME"});
  EXPECT_EQ(plan(tiny({"--device=cuda"})).at("device"), "rtx3060");
}

TEST_F(CliFitTest, EvaluationSizesDriveEvaluation) {
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

// ---- The fixes.

TEST_F(CliFitTest, FixesHaveEveryMember) {
  const Json as_it_is = plan(long_context());
  const Json json = plan(long_context(budget(between(as_it_is))));
  ASSERT_GE(json.at("fixes").size(), 10u);
  for (const Json& fix : json.at("fixes")) {
    EXPECT_TRUE(fix.at("name").is_string() && !fix.at("name").get<std::string>().empty()) << fix;
    EXPECT_TRUE(fix.at("changes").is_object() && !fix.at("changes").empty()) << fix;
    for (const auto& [key, value] : fix.at("changes").items()) {
      ASSERT_TRUE(json.at("config").contains(key)) << key;
      EXPECT_EQ(value.type() == Json::value_t::string, json.at("config").at(key).is_string());
      EXPECT_NE(value, json.at("config").at(key)) << fix;
    }
    for (const char* key : {"effective_batch", "total_bytes", "saved_bytes"}) {
      EXPECT_TRUE(fix.at(key).is_number_integer()) << key;
    }
    for (const char* key : {"same_result", "fits"}) EXPECT_TRUE(fix.at(key).is_boolean()) << key;
    EXPECT_GT(fix.at("time_ratio").get<double>(), 0) << fix;
    EXPECT_EQ(fix.at("saved_bytes"), total_of(json) - total_of(fix)) << fix;
    EXPECT_EQ(fix.at("fits").get<bool>(), total_of(fix) <= json.at("budget_bytes")) << fix;
  }
}

TEST_F(CliFitTest, WhatKeepsTheResultComesFirstAndKeepsTheEffectiveBatch) {
  const Json json = plan(long_context(budget(between(plan(long_context())))));
  bool other_seen = false;
  std::set<std::string> changed;
  for (const Json& fix : json.at("fixes")) {
    const bool same = fix.at("same_result").get<bool>();
    EXPECT_FALSE(same && other_seen) << fix;
    other_seen |= !same;
    EXPECT_TRUE(!same || fix.at("effective_batch") == json.at("effective_batch")) << fix;
    for (const auto& [key, value] : fix.at("changes").items()) changed.insert(key);
    // What changes training is never said to keep the result.
    for (const char* key : {"n_layer", "n_embd", "block_size", "optimizer_dtype", "dtype"}) {
      EXPECT_FALSE(same && fix.at("changes").contains(key)) << fix;
    }
  }
  EXPECT_TRUE(other_seen);
  for (const char* key : {"batch_size", "grad_checkpoint", "loss_chunk", "optimizer_dtype",
                          "block_size", "n_layer", "n_embd"}) {
    EXPECT_EQ(changed.count(key), 1u) << key;
  }
}

TEST_F(CliFitTest, EverySplitOfTheEffectiveBatchIsThere) {
  const auto splits = [&](int batch, int steps) {
    return splits_of(plan(on_card({"--batch_size=" + std::to_string(batch),
                                   "--gradient_accumulation_steps=" + std::to_string(steps)})));
  };
  EXPECT_EQ(splits(16, 32), (std::map<int, int>{{8, 64}, {4, 128}, {2, 256}, {1, 512}}));
  EXPECT_EQ(splits(12, 5),
            (std::map<int, int>{{10, 6}, {6, 10}, {5, 12}, {4, 15}, {3, 20}, {2, 30}, {1, 60}}));
  EXPECT_EQ(splits(15, 7), (std::map<int, int>{{7, 15}, {5, 21}, {3, 35}, {1, 105}}));
  EXPECT_EQ(splits(1, 8), (std::map<int, int>{}));
}

TEST_F(CliFitTest, ABatchThatCannotBeDividedIsSaid) {
  const Words prime = on_card({"--batch_size=13"});
  EXPECT_EQ(splits_of(plan(prime)), (std::map<int, int>{{1, 13}}));
  expect_holds(plan_text(prime), {"13 sequences per update cannot be divided", "between 13 and 1",
                                  "an effective batch of 16 could"});
  const std::string even = plan_text(on_card({"--batch_size=12"}));
  EXPECT_EQ(even.find("cannot be divided"), std::string::npos) << even;
}

TEST_F(CliFitTest, FixesKeepTheirWord) {
  for (const Words& settings :
       {long_context({"--gradient_accumulation_steps=3"}),
        long_context({"--eval_batch_size=64", "--checkpoint_blocks=2", "--dtype=float32"}),
        long_context({"--grad_checkpoint=True", "--loss_chunk=700", "--batch_size=6"})}) {
    const Json as_it_is = plan(settings);
    expect_fixes_keep_their_word(settings + budget(between(as_it_is)));
    expect_fixes_keep_their_word(settings + budget(total_of(as_it_is.at("safest")) / 4));
  }
}

TEST_F(CliFitTest, TheChosenFixFitsAndIsTheFastestOfThoseShown) {
  const Json as_it_is = plan(long_context({"--gradient_accumulation_steps=3"}));
  const std::int64_t safest = total_of(as_it_is.at("safest"));
  for (const std::int64_t bytes : {between(as_it_is), safest, total_of(as_it_is) - 1}) {
    const Json json = plan(long_context(Words{"--gradient_accumulation_steps=3"} + budget(bytes)));
    const Json& chosen = json.at("chosen");
    ASSERT_TRUE(chosen.is_object()) << bytes;
    EXPECT_TRUE(chosen.at("fits").get<bool>()) << chosen;
    EXPECT_TRUE(chosen.at("same_result").get<bool>()) << chosen;
    EXPECT_LE(total_of(chosen), bytes);
    EXPECT_EQ(chosen, json.at("fixes")[0]);
    for (const Json& fix : json.at("fixes")) {
      if (!fix.at("same_result").get<bool>() || !fix.at("fits").get<bool>()) continue;
      EXPECT_GE(fix.at("time_ratio").get<double>(), chosen.at("time_ratio").get<double>() - 1e-9)
          << fix;
    }
  }
  for (const Json& fix : as_it_is.at("fixes")) {
    EXPECT_TRUE(!fix.at("same_result").get<bool>() || total_of(fix) >= safest) << fix;
  }
}

TEST_F(CliFitTest, WithoutASameResultTheStateIsRounded) {
  const std::int64_t safest = total_of(plan(long_context()).at("safest"));
  const Json json = plan(long_context(budget(safest - 1)));
  ASSERT_TRUE(json.at("chosen").is_object());
  EXPECT_EQ(json.at("chosen").at("changes").at("optimizer_dtype"), "bfloat16");
  EXPECT_FALSE(json.at("chosen").at("same_result").get<bool>());
  EXPECT_TRUE(json.at("chosen").at("fits").get<bool>());
  EXPECT_EQ(json.at("chosen").at("effective_batch"), json.at("effective_batch"));
}

TEST_F(CliFitTest, WhenNothingFitsTheSmallestNeedAndItsTermAreNamed) {
  const std::string pattern = "the smallest need that trains the same is (.*), and";
  for (const Words& settings : {on_card({"--memory_budget=1MiB"}), tiny({"--memory_budget=1MiB"}),
                                on_card({"--memory_budget=1MiB", "--n_embd=1024"})}) {
    const Json json = plan(settings);
    EXPECT_FALSE(json.at("fits").get<bool>());
    EXPECT_TRUE(json.at("chosen").is_null());
    EXPECT_FALSE(json.at("safest").at("fits").get<bool>());
    const std::string text = plan_text(settings);
    const Words lines = lines_like(text, "  " + pattern);
    ASSERT_EQ(lines.size(), 1u) << text;
    expect_holds(lines[0], {format_bytes(total_of(json.at("safest"))).c_str()});
    for (const std::string& argument : typed(json.at("safest").at("changes"))) {
      EXPECT_NE(text.find(argument), std::string::npos) << argument << " is not in " << text;
    }
  }
  expect_holds(plan_text(on_card({"--memory_budget=1MiB", "--n_embd=1024"})),
               {"optimizer state alone takes"});
  expect_holds(plan_text(tiny({"--memory_budget=1MiB"})), {"the program itself takes"});
}

TEST_F(CliFitTest, PlanShowsTheFitAndTheSafestOne) {
  const Json as_it_is = plan(long_context());
  const Words limited = long_context(budget(between(as_it_is)));
  const Json before = plan(limited), fitted = plan(limited + Words{"--fit"});
  EXPECT_TRUE(fitted.at("fits").get<bool>());
  EXPECT_EQ(total_of(fitted), total_of(before.at("chosen")));
  for (const auto& [key, value] : before.at("chosen").at("changes").items()) {
    EXPECT_EQ(fitted.at("config").at(key), value) << key;
  }
  EXPECT_EQ(fit_lines(plan_text(limited + Words{"--fit"})).size(), 3u);
  const Json safest = plan(long_context({"--safest"}));
  EXPECT_EQ(total_of(safest), total_of(as_it_is.at("safest")));
  EXPECT_LT(total_of(safest), total_of(as_it_is));
  EXPECT_EQ(safest.at("effective_batch"), as_it_is.at("effective_batch"));
}

TEST_F(CliFitTest, TheCommandsThatThePlanSuggestsRun) {
  const std::int64_t bytes = between(plan(roomy()));
  const std::string text = plan_text(roomy(budget(bytes)));
  std::smatch match;
  for (const char* label : {"Run it .▸.:   snug ", "or let Snug choose:   snug "}) {
    const std::regex whole(std::string(label) + "(([^\\n]*\\\\\n)*[^\\n]*)");
    ASSERT_TRUE(std::regex_search(text, match, whole)) << text;
    std::string line = match[1].str();
    std::erase(line, '\\');
    std::istringstream words(line);
    const Words command{std::istream_iterator<std::string>(words), {}};
    const ProgramResult result = run(command + Words{"--max_iters=0"});
    EXPECT_EQ(result.exit_code, 0) << match[0] << "\n" << result.err;
  }
}

TEST_F(CliFitTest, ACardWithoutBfloat16IsPlannedInFloat16AndStaysSo) {
  const Json json = plan(on_card({"--card=t4", "--memory_budget=40MiB"}));
  EXPECT_EQ(json.at("config").at("dtype"), "float16");
  for (const Json& fix : json.at("fixes")) EXPECT_EQ(fix.at("changes").count("dtype"), 0u) << fix;
}

TEST_F(CliFitTest, AnOddPathIsOneWordOfTheSuggestedCommand) {
  const std::string file = "my long folder's name with blanks/and one more of them/config file.py";
  std::filesystem::create_directories(std::filesystem::path(path(file)).parent_path());
  folder_.write(file, "batch_size = 24\n");
  const Words words = roomy(budget(between(plan(roomy()))) + Words{file});
  const std::string text = plan_text(words);
  const std::string quoted =
      "'my long folder'\\''s name with blanks/and one more of them/config file.py'";
  EXPECT_NE(text.find(quoted), std::string::npos) << text;
}

// ---- Bad input.

TEST_F(CliFitTest, EffectiveBatchThatDoesNotDivideNamesWhatWould) {
  for (const char* command : {"plan", "train"}) {
    expect_error(run(Words{command} + tiny({"--effective_batch=10"})), 2,
                 {"effective_batch = 10", "batch_size = 4", "batch_size = 5 divides it",
                  "effective_batch = 12"});
  }
  const Json json = plan(on_card({"--effective_batch=12"}));
  EXPECT_EQ(json.at("effective_batch"), 12);
  EXPECT_EQ(json.at("config").at("gradient_accumulation_steps"), 3);
}

TEST_F(CliFitTest, AmountsThatDoNotParseAreNamed) {
  for (const char* command : {"plan", "train"}) {
    for (const char* text : {"plenty", "", "12XB", "-1GiB", "0", "0%", "120%", "80%%", "nan", "GiB",
                             "12 GiB or so", "1e99GiB"}) {
      const std::string setting = std::string("--memory_budget=") + text;
      expect_error(run(Words{command} + tiny({setting})), 2, {"memory_budget", text, "80%"});
    }
    for (const char* text : {"lots", "", "-5%", "-1MiB", "100%", "250%", "10%%", "nan%"}) {
      const std::string setting = std::string("--headroom=") + text;
      expect_error(run(Words{command} + tiny({setting})), 2, {"headroom", text, "%"});
    }
  }
  EXPECT_FALSE(exists("out"));
}

// ---- The page.

TEST_F(CliFitTest, ThePageHoldsTheTotalAndEveryFix) {
  const Words limited = long_context(budget(between(plan(long_context()))));
  const ProgramResult text = run(Words{"plan", "--html=plan.html"} + limited);
  EXPECT_EQ(text.exit_code, 3) << text.err;
  EXPECT_EQ(lines_like(text.out, "  The picture: +plan\\.html").size(), 1u) << text.out;
  const std::string page = read("plan.html");
  const Json json = plan(limited);
  EXPECT_EQ(page.rfind("<!DOCTYPE html>", 0), 0u) << page.substr(0, 40);
  expect_holds(page, {"</html>", std::to_string(total_of(json)).c_str(),
                      format_bytes(total_of(json)).c_str(), "--block_size=128"});
  for (const Json& fix : json.at("fixes")) {
    EXPECT_NE(page.find(fix.at("name").get<std::string>()), std::string::npos) << fix;
  }
  // Nothing is fetched when it is read.
  EXPECT_FALSE(std::regex_search(page, std::regex("(src|href)=\"?(https?:)?//"))) << page;
  EXPECT_FALSE(exists("plan.html.partial"));
}

TEST_F(CliFitTest, JsonBesideThePageIsStillJson) {
  const ProgramResult without = run(Words{"plan", "--json"} + on_card());
  const ProgramResult with = run(Words{"plan", "--html=plan.html", "--json"} + on_card());
  EXPECT_EQ(with.exit_code, 0) << with.err;
  EXPECT_EQ(with.out, without.out);
  EXPECT_FALSE(Json::parse(with.out, nullptr, false).is_discarded()) << with.out;
  EXPECT_FALSE(read("plan.html").empty());
}

TEST_F(CliFitTest, APageThatCannotBeWrittenIsExitCode5AndNamed) {
  const auto with_page = [](const char* path) {
    return Words{"plan", std::string("--html=") + path} + on_card();
  };
  expect_error(run(with_page("none/plan.html")), 5, {"none/plan.html", "No such file"});
  EXPECT_FALSE(exists("none"));
  folder_.write("folder/kept.txt", "mine");
  expect_error(run(with_page("folder")), 5, {"folder", "directory"});
  EXPECT_EQ(read("folder/kept.txt"), "mine");
  expect_error(run(with_page("small.txt/plan.html")), 5, {"small.txt/plan.html"});
  // A disk that gets full leaves the earlier page as it was.
  folder_.write("plan.html", "an earlier page");
  ProgramSettings full = settings();
  full.file_size_limit = 8192;
  const ProgramResult result = run_program(with_page("plan.html"), full);
  expect_error(result, 5, {"plan.html", "space"});
  EXPECT_EQ(read("plan.html"), "an earlier page");
  for (const std::string& name : folder_.list()) {
    EXPECT_EQ(name.find(".partial"), std::string::npos) << name;
  }
}

TEST_F(CliFitTest, APageNeedsAName) {
  for (const Words& html : {Words{"--html"}, Words{"--html="}, Words{"--html", "plan.html"}}) {
    expect_error(run(Words{"plan"} + html + on_card()), 2, {"--html", "--html=plan.html"});
  }
  EXPECT_FALSE(exists("plan.html"));
}

// ---- Cards and help.

TEST_F(CliFitTest, CardsAreListed) {
  const ProgramResult text = run({"cards"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(lines_like(text.out, "rtx3060 +GeForce RTX 3060 +12\\.00 GiB .*").size(), 1u)
      << text.out;
  const ProgramResult as_json = run({"cards", "--json"});
  const Json cards = Json::parse(as_json.out, nullptr, false);
  ASSERT_TRUE(cards.is_array()) << as_json.out;
  std::map<std::string, Json> by_key;
  for (const Json& card : cards) by_key[card.at("key")] = card;
  EXPECT_EQ(by_key.size(), cards.size());
  ASSERT_EQ(by_key.count("rtx3060"), 1u);
  EXPECT_EQ(by_key["rtx3060"].at("memory_bytes"), 12 * kGiB);
  EXPECT_GT(by_key["rtx3060"].at("bf16_tflops").get<double>(), 0);
  EXPECT_EQ(by_key["gtx1080ti"].at("bf16_tflops").get<double>(), 0);
  // The listed parts are those of the plan.
  const Json parts = plan(on_card()).at("budget");
  EXPECT_EQ(parts.at("memory_bytes"), by_key["rtx3060"].at("reported_bytes"));
  for (const char* key : {"display_bytes", "context_bytes"}) {
    EXPECT_EQ(parts.at(key), by_key["rtx3060"].at(key)) << key;
  }
  expect_error(run({"cards", "rtx3060"}), 2, {"rtx3060", "snug plan --card"});
  expect_error(run({"cards", "--jsn"}), 2, {"--jsn"});
}

TEST_F(CliFitTest, HelpNamesTheFit) {
  expect_holds(run({"plan", "--help"}).out, {"--html=FILE", "--fit", "--safest", "--card",
                                             "--headroom", "--memory_budget", "snug cards"});
  expect_holds(run({"train", "--help"}).out,
               {"--fit", "--safest", "--optimizer_dtype", "--effective_batch", "--eval_sequences"});
  expect_holds(run({"--help"}).out, {"cards", "3 does not fit"});
  expect_holds(run({"cards", "--help"}).out, {"snug cards", "--json"});
}

// ---- Training.

TEST_F(CliFitTest, TrainRefusesWithTheTable) {
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

TEST_F(CliFitTest, FitTrainsTheSameWeightsInLessMemory) {
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
    EXPECT_EQ(stored.at("fit_changes").get<Words>(), said);
    const auto changes = changes_said(said);
    ASSERT_FALSE(changes.empty()) << said[2];
    for (const auto& [key, value] : changes) {
      EXPECT_EQ(python_text(stored.at("config").at(key)), value) << key;
      EXPECT_NE(python_text(as_it_is.at("config").at(key)), value) << key;
    }
    EXPECT_EQ(state("whole" + out_dir).at("fit_changes"), Json::array());
    Json values = stored.at("config");
    for (auto at = values.begin(); at != values.end();) {
      at = changes.count(at.key()) == 1 ? std::next(at) : values.erase(at);
    }
    EXPECT_LE(total_of(plan(roomy(more + typed(values)))), bytes) << values;
  }
}

TEST_F(CliFitTest, ResumeShowsTheFitAgainAndGoesOn) {
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
  EXPECT_FALSE(state("out").at("fit_changes").empty());
  const ProgramResult third = run(Words{"train"} + roomy({"--init_from=resume"}));
  ASSERT_EQ(third.exit_code, 0) << third.err;
  EXPECT_FALSE(lines_like(third.out, "when this run started, fit: .*").empty()) << third.out;
  ASSERT_EQ(run(Words{"train"} + roomy({"--out_dir=whole"})).exit_code, 0);
  EXPECT_EQ(weights_and_optimizer("out"), weights_and_optimizer("whole"));
}

TEST_F(CliFitTest, ResumeWithoutTheFitNeedsTheMemory) {
  const Words limited = roomy(budget(between(plan(roomy()))));
  ASSERT_EQ(run(Words{"train"} + limited + Words{"--fit", "--max_iters=3"}).exit_code, 0);
  expect_error(run(Words{"train"} + limited + Words{"--init_from=resume", "--fit=False"}), 3,
               {"does not fit", "Fixes, best first"});
}

TEST_F(CliFitTest, FitThatIsNotNeededSaysSoOrWhy) {
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

TEST_F(CliFitTest, SafestTakesTheFewestBytesForTheSameWeights) {
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

TEST_F(CliFitTest, FitThatCannotHelpIsExitCode3) {
  const Json as_it_is = plan(tiny({"--n_embd=64"}));
  // Enough for the program, too little for any setting of this model.
  const std::int64_t little = as_it_is.at("overhead_bytes").get<std::int64_t>() + 64 * kKiB;
  for (const char* fit : {"--fit", "--safest"}) {
    const ProgramResult result = train(Words{"--n_embd=64", fit} + budget(little));
    const std::string need = format_bytes(total_of(as_it_is.at("safest")));
    expect_error(result, 3,
                 {"does not fit", "nothing that keeps the effective batch fits", "smallest need",
                  need.c_str(), "Fixes, best first"});
    expect_holds(fit_lines(result.out).at(0), {"nothing that keeps the effective batch fits"});
    expect_error(train({fit, "--memory_budget=1MiB"}), 3,
                 {"does not fit", "the program itself", "Fixes, best first", "smallest need"});
  }
  EXPECT_FALSE(exists("out"));
}

TEST_F(CliFitTest, FitRoundsTheStateOnlyWhenNothingElseFits) {
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

TEST_F(CliFitTest, LightRecomputationNeverChangesTheWeights) {
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

// ---- Moments in bfloat16.

const Words kBf16 = {"--optimizer_dtype=bfloat16"};

TEST_F(CliFitTest, Bf16MomentsAreStoredInHalfTheBytes) {
  ASSERT_EQ(train({"--out_dir=f32"}).exit_code, 0);
  const ProgramResult result = train(kBf16 + Words{"--out_dir=bf16"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(dtypes_of(read("bf16/latest/optimizer.safetensors")), std::set<std::string>{"BF16"});
  EXPECT_EQ(dtypes_of(read("bf16/latest/model.safetensors")), std::set<std::string>{"F32"});
  EXPECT_EQ(dtypes_of(read("f32/latest/optimizer.safetensors")), std::set<std::string>{"F32"});
  const Json listed = state("bf16").at("optimizer");
  for (const Json& tensor : listed) EXPECT_EQ(tensor.at("dtype"), "BF16");
  EXPECT_NE(model("bf16"), model("f32"));
  const auto moments = [&](const Words& more) {
    return plan(tiny(more)).at("roles").at("optimizer state").get<std::int64_t>();
  };
  // Half, but for what each tensor is rounded up to.
  EXPECT_LT(moments(kBf16), moments({}) * 6 / 10);
  EXPECT_GE(moments(kBf16), moments({}) / 2);
  EXPECT_EQ(run({"sample", "--out_dir=bf16", "--num_samples=1", "--max_new_tokens=5"}).exit_code,
            0);
}

TEST_F(CliFitTest, MemorySettingsNeverChangeBf16Moments) {
  const Words base = kBf16 + Words{"--dropout=0.1", "--batch_size=12"};
  ASSERT_EQ(train(base + Words{"--out_dir=base"}).exit_code, 0);
  const std::vector<Words> variants = {
      {"--batch_size=4", "--gradient_accumulation_steps=3"},
      {"--batch_size=1", "--gradient_accumulation_steps=12", "--grad_checkpoint=True"},
      {"--loss_chunk=5", "--recompute_light=False", "--checkpoint_blocks=1"},
  };
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const std::string out_dir = "variant" + std::to_string(i);
    ASSERT_EQ(train(base + variants[i] + Words{"--out_dir=" + out_dir}).exit_code, 0);
    EXPECT_EQ(weights_and_optimizer(out_dir), weights_and_optimizer("base")) << variants[i][0];
  }
}

TEST_F(CliFitTest, Bf16RunsThatWereStoppedEndAsIfTheyWereNot) {
  const Words endless = kBf16 + Words{"--max_iters=1000000", "--dropout=0.1", "--eval_interval=3"};
  for (const int signal : {SIGKILL, SIGTERM}) {
    const std::string name = signal == SIGKILL ? "killed" : "stopped";
    RunningProgram program(Words{"train"} + tiny(endless + Words{"--out_dir=" + name}), settings());
    ASSERT_TRUE(program.wait_for_output("iter 4:")) << program.out();
    program.send(signal);
    const ProgramResult ended = program.wait();
    EXPECT_EQ(ended.signal, signal == SIGKILL ? SIGKILL : 0) << ended.err;
    const int done = state(name).at("iteration");
    ASSERT_GE(done, 3);
    const Words last = {"--max_iters=" + std::to_string(done + 4)};
    const ProgramResult resumed =
        train(endless + last + Words{"--out_dir=" + name, "--init_from=resume"});
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    expect_holds(resumed.out, {("continuing at iteration " + std::to_string(done)).c_str()});
    ASSERT_EQ(train(endless + last + Words{"--out_dir=whole" + name}).exit_code, 0);
    EXPECT_EQ(weights_and_optimizer(name), weights_and_optimizer("whole" + name));
  }
}

TEST_F(CliFitTest, ResumeKeepsTheOptimizerDtypeOfTheCheckpoint) {
  for (const std::string made : {"float32", "bfloat16"}) {
    const std::string asked = made == "float32" ? "bfloat16" : "float32";
    const Words out = {"--out_dir=" + made};
    const Words with_made = {"--optimizer_dtype=" + made};
    ASSERT_EQ(train(out + with_made + Words{"--max_iters=3"}).exit_code, 0);
    const ProgramResult resumed =
        train(out + Words{"--optimizer_dtype=" + asked, "--init_from=resume"});
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    const std::string notice = "optimizer_dtype = " + made + " comes from the checkpoint, not ";
    expect_holds(resumed.out, {(notice + asked).c_str()});
    ASSERT_EQ(train(with_made + Words{"--out_dir=whole" + made}).exit_code, 0);
    EXPECT_EQ(weights_and_optimizer(made), weights_and_optimizer("whole" + made));
  }
}

TEST_F(CliFitTest, AFitThatStartsWithAResumeIsStored) {
  ASSERT_EQ(run(Words{"train"} + roomy({"--max_iters=3"})).exit_code, 0);
  const Words limited = roomy(budget(between(plan(roomy()))) + Words{"--init_from=resume"});
  const ProgramResult fitted = run(Words{"train"} + limited + Words{"--fit", "--max_iters=6"});
  ASSERT_EQ(fitted.exit_code, 0) << fitted.err;
  EXPECT_EQ(state("out").at("fit_changes").get<Words>(), fit_lines(fitted.out));
  const ProgramResult last = run(Words{"train"} + limited);
  EXPECT_EQ(last.exit_code, 0) << last.err;
  EXPECT_FALSE(lines_like(last.out, "when this run started, fit: .*").empty()) << last.out;
}

// The checkpoint's moments are in float32: no fit can round them.
TEST_F(CliFitTest, AFitNeverContradictsTheCheckpoint) {
  const Words wide = {"--n_embd=64"};
  ASSERT_EQ(train(wide + Words{"--max_iters=3"}).exit_code, 0);
  const Words limited = wide + budget(total_of(plan(tiny(wide)).at("safest")) - 1);
  expect_error(train(limited + Words{"--init_from=resume", "--fit"}), 3, {"does not fit"});
}

TEST_F(CliFitTest, ASafestRunIsResumedInItsMemory) {
  const Words limited = roomy(budget(between(plan(roomy()))));
  ASSERT_EQ(run(Words{"train"} + limited + Words{"--safest", "--max_iters=3"}).exit_code, 0);
  const ProgramResult resumed = run(Words{"train"} + limited + Words{"--init_from=resume"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
}

TEST_F(CliFitTest, FixesOfATypedEffectiveBatchKeepTheirWord) {
  expect_fixes_keep_their_word(long_context({"--effective_batch=64"}));
}

// A pretrained model's size cannot be typed away.
TEST_F(CliFitTest, FixesOfAPretrainedModelKeepTheirWord) {
  const Words settings = {"--card=rtx3060", "--init_from=gpt2"};
  const Json json = plan(settings);
  for (const Json& fix : json.at("fixes")) {
    if (!fix.at("changes").contains("n_layer") && !fix.at("changes").contains("n_embd")) continue;
    EXPECT_EQ(total_of(plan(settings + typed(fix.at("changes")))), total_of(fix)) << fix;
  }
}

TEST_F(CliFitTest, HeadroomBeyondTheBudgetAddsUpOrIsRefused) {
  const ProgramResult result = run(Words{"plan", "--json"} + on_card({"--headroom=20GiB"}));
  if (result.exit_code == 2) return expect_error(result, 2, {"headroom", "20GiB"});
  const Json parts = Json::parse(result.out).at("budget");
  const auto bytes = [&](const char* key) { return parts.at(key).get<std::int64_t>(); };
  EXPECT_EQ(bytes("memory_bytes") - bytes("display_bytes") -
                parts.at("context_bytes").at("high").get<std::int64_t>() - bytes("headroom_bytes"),
            bytes("usable_bytes"));
}

TEST_F(CliFitTest, EffectiveBatchOfTooManyStepsIsToBlame) {
  const ProgramResult result =
      run(Words{"plan"} + on_card({"--effective_batch=1000000", "--batch_size=1"}));
  expect_error(result, 2, {"effective_batch", "1000000", "65,536"});
}

TEST_F(CliFitTest, LaterPageWins) {
  const ProgramResult result = run(Words{"plan", "--html=a.html", "--html=b.html"} + on_card());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(exists("b.html"));
}

}  // namespace
}  // namespace snug
