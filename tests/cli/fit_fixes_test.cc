// The ranked fixes of `snug plan`, and whether they keep their word.
#include <regex>

#include "cli/fit_testing.h"

namespace snug {
namespace {

class CliFitFixes : public CliFitTest {};

TEST_F(CliFitFixes, FixesHaveEveryMember) {
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

TEST_F(CliFitFixes, WhatKeepsTheResultComesFirstAndKeepsTheEffectiveBatch) {
  const Json json = plan(long_context(budget(between(plan(long_context())))));
  bool other_seen = false, fitting = true;
  std::set<std::string> changed;
  for (const Json& fix : json.at("fixes")) {
    const bool same = fix.at("same_result").get<bool>();
    // What fits comes first; of that, and of the rest, what keeps the result.
    if (fitting && !fix.at("fits").get<bool>()) fitting = other_seen = false;
    EXPECT_EQ(fix.at("fits").get<bool>(), fitting) << fix;
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

TEST_F(CliFitFixes, EverySplitOfTheEffectiveBatchIsThere) {
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

TEST_F(CliFitFixes, ABatchThatCannotBeDividedIsSaid) {
  const Words prime = on_card({"--batch_size=13"});
  EXPECT_EQ(splits_of(plan(prime)), (std::map<int, int>{{1, 13}}));
  // Where it fits nobody needs smaller batches, and nothing is said.
  const Words too_large = prime + budget(total_of(plan(prime)) - 1);
  expect_holds(plan_text(too_large),
               {"13 sequences per update cannot be divided", "effective batch of 16 could"});
  const std::string even = plan_text(on_card({"--batch_size=12"}));
  EXPECT_EQ(even.find("cannot be divided"), std::string::npos) << even;
}

TEST_F(CliFitFixes, FixesKeepTheirWord) {
  for (const Words& settings :
       {long_context({"--gradient_accumulation_steps=3"}),
        long_context({"--eval_batch_size=64", "--checkpoint_blocks=2", "--dtype=float32"}),
        long_context({"--grad_checkpoint=True", "--loss_chunk=700", "--batch_size=6"})}) {
    const Json as_it_is = plan(settings);
    expect_fixes_keep_their_word(settings + budget(between(as_it_is)));
    expect_fixes_keep_their_word(settings + budget(total_of(as_it_is.at("safest")) / 4));
  }
}

TEST_F(CliFitFixes, TheChosenFixFitsAndIsTheFastestOfThoseShown) {
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

TEST_F(CliFitFixes, WithoutASameResultTheStateIsRounded) {
  const std::int64_t safest = total_of(plan(long_context()).at("safest"));
  const Json json = plan(long_context(budget(safest - 1)));
  ASSERT_TRUE(json.at("chosen").is_object());
  EXPECT_EQ(json.at("chosen").at("changes").at("optimizer_dtype"), "bfloat16");
  EXPECT_FALSE(json.at("chosen").at("same_result").get<bool>());
  EXPECT_TRUE(json.at("chosen").at("fits").get<bool>());
  EXPECT_EQ(json.at("chosen").at("effective_batch"), json.at("effective_batch"));
}

TEST_F(CliFitFixes, WhenNothingFitsTheSmallestNeedAndItsTermAreNamed) {
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

TEST_F(CliFitFixes, PlanShowsTheFitAndTheSafestOne) {
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

TEST_F(CliFitFixes, TheCommandsThatThePlanSuggestsRun) {
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

TEST_F(CliFitFixes, TheSafestSettingIsNotTalkedOutOf) {
  const Json json = plan(long_context({"--safest"}));
  EXPECT_TRUE(json.at("chosen").is_null()) << json.at("chosen");
}

TEST_F(CliFitFixes, ACardWithoutBfloat16IsPlannedInFloat16AndStaysSo) {
  const Json json = plan(on_card({"--card=t4", "--memory_budget=40MiB"}));
  EXPECT_EQ(json.at("config").at("dtype"), "float16");
  for (const Json& fix : json.at("fixes")) EXPECT_EQ(fix.at("changes").count("dtype"), 0u) << fix;
}

TEST_F(CliFitFixes, AnOddPathIsOneWordOfTheSuggestedCommand) {
  const std::string file = "my long folder's name with blanks/and one more of them/config file.py";
  std::filesystem::create_directories(std::filesystem::path(path(file)).parent_path());
  folder_.write(file, "batch_size = 24\n");
  const Words words = roomy(budget(between(plan(roomy()))) + Words{file});
  const std::string text = plan_text(words);
  const std::string quoted =
      "'my long folder'\\''s name with blanks/and one more of them/config file.py'";
  EXPECT_NE(text.find(quoted), std::string::npos) << text;
}

TEST_F(CliFitFixes, FixesOfATypedEffectiveBatchKeepTheirWord) {
  expect_fixes_keep_their_word(long_context({"--effective_batch=64"}));
}

// A pretrained model's size cannot be typed away.
TEST_F(CliFitFixes, FixesOfAPretrainedModelKeepTheirWord) {
  const Words settings = {"--card=rtx3060", "--init_from=gpt2"};
  const Json json = plan(settings);
  for (const Json& fix : json.at("fixes")) {
    if (!fix.at("changes").contains("n_layer") && !fix.at("changes").contains("n_embd")) continue;
    EXPECT_EQ(total_of(plan(settings + typed(fix.at("changes")))), total_of(fix)) << fix;
  }
}

// A row that takes some of what is kept free is of more use than one that does not fit at all, and
// its mark is explained.
TEST_F(CliFitFixes, BarelyFittingRowsStandBeforeTheOthersAndAreExplained) {
  const std::string text = plan_text(
      {"--card=rtx3060", "--dtype=bfloat16", "--n_layer=36", "--n_head=20", "--n_embd=1280"});
  const std::string rows = text.substr(text.find("Fixes, best first"));
  ASSERT_NE(rows.find("  ~ "), rows.npos) << text;
  ASSERT_NE(rows.find("✘"), rows.npos) << text;
  EXPECT_LT(rows.rfind("✔"), rows.find("  ~ ")) << text;
  EXPECT_LT(rows.find("  ~ "), rows.find("✘")) << text;
  expect_holds(rows, {"~ barely: less than 5% would stay free; --headroom=0% allows it"});
}

}  // namespace
}  // namespace snug
