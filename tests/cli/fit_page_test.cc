// Bad input of the fit, the page, the list of cards, help.
#include <regex>

#include "cli/fit_testing.h"

namespace snug {
namespace {

class CliFitPage : public CliFitTest {};

TEST_F(CliFitPage, EffectiveBatchThatDoesNotDivideNamesWhatWould) {
  for (const char* command : {"plan", "train"}) {
    expect_error(run(Words{command} + tiny({"--effective_batch=10"})), 2,
                 {"effective_batch = 10", "batch_size = 4", "batch_size = 5 divides it",
                  "effective_batch = 12"});
  }
  const Json json = plan(on_card({"--effective_batch=12"}));
  EXPECT_EQ(json.at("effective_batch"), 12);
  EXPECT_EQ(json.at("config").at("gradient_accumulation_steps"), 3);
}

TEST_F(CliFitPage, AmountsThatDoNotParseAreNamed) {
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

TEST_F(CliFitPage, EffectiveBatchOfTooManyStepsIsToBlame) {
  const ProgramResult result =
      run(Words{"plan"} + on_card({"--effective_batch=1000000", "--batch_size=1"}));
  expect_error(result, 2, {"effective_batch", "1000000", "65,536"});
}

TEST_F(CliFitPage, ThePageHoldsTheTotalAndEveryFix) {
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
    if (!fix.at("helps").get<bool>()) continue;
    EXPECT_NE(page.find(fix.at("name").get<std::string>()), std::string::npos) << fix;
  }
  // Nothing is fetched when it is read.
  EXPECT_FALSE(std::regex_search(page, std::regex("(src|href)=\"?(https?:)?//"))) << page;
  EXPECT_FALSE(exists("plan.html.partial"));
}

// Where it fits the page shows what the text shows: the uses of spare memory, and no smaller batch.
TEST_F(CliFitPage, ThePageOfAPlanThatFitsShowsWhatTheSpareMemoryBuys) {
  ASSERT_EQ(run(Words{"plan", "--html=plan.html"} + on_card()).exit_code, 0);
  const std::string page = read("plan.html");
  const Json json = plan(on_card());
  ASSERT_FALSE(json.at("spare").empty());
  for (const Json& use : json.at("spare")) {
    EXPECT_NE(page.find(use.at("name").get<std::string>()), std::string::npos) << use;
  }
  EXPECT_NE(page.find("What the spare memory buys"), std::string::npos);
  EXPECT_EQ(page.find("\"batch 1, accumulate"), std::string::npos);
}

TEST_F(CliFitPage, JsonBesideThePageIsStillJson) {
  const ProgramResult without = run(Words{"plan", "--json"} + on_card());
  const ProgramResult with = run(Words{"plan", "--html=plan.html", "--json"} + on_card());
  EXPECT_EQ(with.exit_code, 0) << with.err;
  EXPECT_EQ(with.out, without.out);
  EXPECT_FALSE(parsed_json(with.out).is_discarded()) << with.out;
  EXPECT_FALSE(read("plan.html").empty());
}

TEST_F(CliFitPage, APageThatCannotBeWrittenIsExitCode5AndNamed) {
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

TEST_F(CliFitPage, ALinkIsFollowedAndADeviceIsWrittenTo) {
  folder_.write("real.html", "old");
  std::filesystem::create_symlink("real.html", path("link.html"));
  ASSERT_EQ(run(Words{"plan"} + on_card({"--html=link.html"})).exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(path("link.html")));
  EXPECT_GT(read("real.html").size(), 1000u);
  EXPECT_EQ(run(Words{"plan"} + on_card({"--html=/dev/null"})).exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(CliFitPage, APageNeedsAName) {
  for (const Words& html : {Words{"--html"}, Words{"--html="}, Words{"--html", "plan.html"}}) {
    expect_error(run(Words{"plan"} + html + on_card()), 2, {"--html", "--html=plan.html"});
  }
  EXPECT_FALSE(exists("plan.html"));
}

TEST_F(CliFitPage, LaterPageWins) {
  const ProgramResult result = run(Words{"plan", "--html=a.html", "--html=b.html"} + on_card());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(exists("b.html"));
}

TEST_F(CliFitPage, CardsAreListed) {
  const ProgramResult text = run({"cards"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(lines_like(text.out, "rtx3060 +12 .* 8\\.6  tensor flash").size(), 1u) << text.out;
  const ProgramResult as_json = run({"cards", "--json"});
  const Json cards = parsed_json(as_json.out);
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

TEST_F(CliFitPage, HelpNamesTheFit) {
  expect_holds(run({"plan", "--help"}).out, {"--html=FILE", "--fit", "--safest", "--card",
                                             "--headroom", "--memory_budget", "snug cards"});
  expect_holds(run({"train", "--help"}).out,
               {"--fit", "--safest", "--optimizer_dtype", "--effective_batch", "--eval_sequences"});
  expect_holds(run({"--help"}).out, {"cards", "3 does not fit"});
  expect_holds(run({"cards", "--help"}).out, {"snug cards", "--json"});
}

}  // namespace
}  // namespace snug
