#include "config/fields.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "config/config_for_test.h"
#include "config/diagnostic.h"
#include "config/nearest.h"

namespace snug::config {
namespace {

TEST(Fields, EveryKeyAndMemberHasOneRow) {
  std::set<std::string_view> keys;
  for (const Field& field : all_fields()) {
    EXPECT_TRUE(keys.insert(field.key).second) << field.key;
    EXPECT_EQ(&field_of(field.member), &field) << field.key;
    EXPECT_FALSE(field.help.empty()) << field.key;
  }
  // One row per member of Config, whose size only those members make up.
  std::size_t bytes = 0;
  for (const Field& field : all_fields()) {
    bytes += std::visit([](auto member) { return sizeof(std::declval<Config>().*member); },
                        field.member);
  }
  EXPECT_LE(bytes, sizeof(Config));
  EXPECT_GT(bytes + sizeof(std::int64_t) * 8, sizeof(Config));
}

TEST(Fields, RowsOfAGroupStandTogether) {
  std::set<Group> seen;
  const Field* last = nullptr;
  for (const Field& field : all_fields()) {
    const bool starts = !last || last->group != field.group;
    EXPECT_EQ(seen.insert(field.group).second, starts) << field.key;
    last = &field;
  }
}

TEST(Fields, DefaultsLieWithinTheirRanges) {
  const Config defaults;
  for (const Field& field : all_fields())
    EXPECT_NO_THROW(check_range(defaults, field)) << field.key;
}

TEST(Echo, IsAConfigThatReadsBack) {
  const LoadedConfig config =
      load_text("out_dir = 'it\\'s \"x\"\\n\\\\'\nlearning_rate = 1e-20\ngrad_checkpoint = True",
                {"--start=a\tb\x01", "--n_head=6", "--memory_budget=80%"});
  const std::string echo = echo_config(config);
  EXPECT_NE(echo.find("= 6                         # --n_head=6\n"), std::string::npos) << echo;
  EXPECT_NE(echo.find(".py:2\n"), std::string::npos);
  EXPECT_NE(echo.find("= 12                        # derived\n"), std::string::npos);
  EXPECT_EQ(config_to_json(load_text(echo).values), config_to_json(config.values));
}

TEST(Json, GoesThereAndBack) {
  const Config values = load(Command::kTrain, {"--dropout=0.1", "--start='a\\n\"é'", "--bias=True",
                                               "--seed=9223372036854775807"})
                            .values;
  const std::string json = config_to_json(values);
  EXPECT_EQ(config_to_json(config_from_json(json)), json);
  EXPECT_EQ(nlohmann::json::parse(json).size(), all_keys().size());
}

TEST(Json, SaysWhatIsWrong) {
  std::vector<std::string> notices;
  EXPECT_EQ(config_from_json(R"({"n_layer": 3, "future": 1})", &notices).n_layer, 3);
  EXPECT_EQ(notices, std::vector<std::string>{"the saved config has an unknown key: future"});
  EXPECT_EQ(config_from_json("{}").n_layer, 12);
  for (const char* json : {"", "[1]", "{", R"({"n_layer": "3"})", R"({"n_layer": null})",
                           R"({"n_layer": 18446744073709551615})", R"({"out_dir": {}})", "\xFF"}) {
    EXPECT_THROW(config_from_json(json), ConfigError) << json;
  }
}

TEST(Help, ShowsWhatTheCommandUses) {
  const std::string train = keys_help(Command::kTrain, 80);
  EXPECT_NE(train.find("  --n_layer=12                      transformer blocks (1 to 512)\n"),
            std::string::npos);
  EXPECT_EQ(train.find("--top_k"), std::string::npos);
  const std::string sample = keys_help(Command::kSample, 80);
  EXPECT_NE(sample.find("--init_from=resume"), std::string::npos);
  EXPECT_NE(sample.find("--start='\\n'"), std::string::npos);
  EXPECT_EQ(sample.find("--learning_rate"), std::string::npos);
}

TEST(Help, KeepsToTheColumns) {
  for (const int columns : {-1, 40, 60, 72, 80, 132}) {
    for (const Command command : {Command::kTrain, Command::kPlan, Command::kSample}) {
      std::istringstream lines(keys_help(command, columns));
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(column_count(line), static_cast<std::size_t>(std::max(columns, 40))) << line;
        EXPECT_FALSE(line.ends_with(' ')) << line;
      }
    }
  }
}

TEST(Markdown, HasARowPerKey) {
  const std::string text = keys_markdown();
  for (const std::string& key : all_keys()) {
    EXPECT_NE(text.find("\n| `" + key + "` | "), std::string::npos) << key;
  }
  EXPECT_NE(
      text.find("| `n_layer` | `12` | 1 to 512 | transformer blocks | train, plan | nanoGPT |"),
      std::string::npos);
  EXPECT_NE(text.find("| `scratch`; sample: `resume` |"), std::string::npos);
}

TEST(Nearest, CountsTypingErrors) {
  EXPECT_EQ(edit_distance("batchsize", "batch_size"), 0);
  EXPECT_EQ(edit_distance("bacth_size", "batch_size"), 1);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(nearest_word("dropuot", all_keys(), 2), "dropout");
  EXPECT_EQ(nearest_word("", all_keys(), 2), "");
  EXPECT_EQ(nearest_word(std::string(100000, 'x'), all_keys(), 2), "");
}

TEST(Diagnostic, KnowsUtf8) {
  EXPECT_TRUE(is_utf8("aé€😀"));
  for (const char* text : {"\x80", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                           "\xF8", "\xC3", "\xE2\x82", "\xFF"}) {
    EXPECT_FALSE(is_utf8(text));
  }
  EXPECT_EQ(shortened("ééééé", 4), "é...");
  EXPECT_EQ(shortened("abcd", 4), "abcd");
}

TEST(Diagnostic, CutsLongLinesAroundTheValue) {
  const std::string filler(300, 'x');
  const std::string error = text_error("x = '" + filler + "'; batch_size = True # " + filler);
  std::istringstream lines(error);
  std::string first, text, carets;
  std::getline(lines, first);
  std::getline(lines, text);
  std::getline(lines, carets);
  EXPECT_LT(text.size(), 105U);
  EXPECT_EQ(text.substr(carets.find('^'), carets.size() - carets.find('^')), "True");
}

}  // namespace
}  // namespace snug::config
