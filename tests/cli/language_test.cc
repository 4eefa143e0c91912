// Reports and errors in the reader's language, as the locale or --lang has it.
#include "cli/fit_testing.h"
#include "report/columns.h"
#include "report/doctor/english_for_test.h"

namespace snug {
namespace {

class CliLanguage : public CliFitTest {};

TEST_F(CliLanguage, APlanIsReadInFourLanguages) {
  const struct {
    const char* code;
    const char* fits;
    const char* weights;
  } expected[] = {{"en", "Fits.", "weights"},
                  {"zh", "放得下。", "权重"},
                  {"ja", "収まります。", "重み"},
                  {"de", "Passt.", "Gewichte"}};
  for (const auto& [code, fits, weights] : expected) {
    const std::string text = plan_text(on_card({std::string("--lang=") + code}));
    expect_holds(text, {fits, weights, "GeForce RTX 3060"});
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(report::columns_of(line), 100u) << line;
    }
  }
}

TEST_F(CliLanguage, GermanHasADecimalComma) {
  const std::string text = plan_text(on_card({"--lang=de"}));
  EXPECT_EQ(lines_like(text, ".*[0-9],[0-9][0-9] GiB.*").empty(), false) << text;
  EXPECT_EQ(lines_like(text, ".*[0-9]\\.[0-9][0-9] [GMK]iB.*").size(), 0u) << text;
}

TEST_F(CliLanguage, ErrorsFollowTheOptionAndJsonDoesNot) {
  expect_error(run(Words{"plan"} + on_card({"--lang=de", "--card=rtx3061"})), 2,
               {"Die Karte 'rtx3061' ist nicht in der Liste", "Ist rtx3060 gemeint?"});
  expect_error(run(Words{"plan"} + on_card({"--lang=xx"})), 2, {"lang", "xx"});
  Json german = plan(on_card({"--lang=de"})), english = plan(on_card({"--lang=en"}));
  german.at("config").erase("lang");
  english.at("config").erase("lang");
  EXPECT_EQ(german, english);
}

// Whatever the command: its own refusal comes, in that language, and none of --lang.
TEST_F(CliLanguage, EveryCommandTakesALanguage) {
  const std::vector<std::string> commands[] = {
      {"plot", "none"},
      {"convert", "none", "x.pt"},
      {"eval", "none", "--tokens=x"},
      {"prepare"},
      {"prepare", "char", "none"},
      {"prepare", "char", "none", "d"},
      {"prepare", "tales"},
      {"prepare", "bpe", "none", "d"},
      {"data", "none"},
      {"tokenize"},
      {"devices", "x"},
      {"watch", "x"},
      {"cards", "x"},
      {"verify", "none"},
      {"completion", "tcsh"},
      {"doctor", "--log=none"},
      {"sample", "--out_dir=none"},
      {"bench", "none.py"},
      {"selftest", "--none"},
      {"config", "--none"},
      {"prepare", "shakespeare", "a", "b"},
  };
  for (const std::vector<std::string>& words : commands) {
    for (const char* code : {"zh", "ja", "de"}) {
      const ProgramResult result = run(words + Words{std::string("--lang=") + code});
      EXPECT_NE(result.exit_code, 0) << words[0];
      EXPECT_EQ(result.err.find("--lang"), std::string::npos) << result.err;
      EXPECT_FALSE(report::has_english(result.err)) << result.err;
    }
  }
  expect_error(run({"plot", "none", "--lang=xx"}), 2, {"lang", "xx"});
  expect_error(run({"plot", "none", "--lang=xx", "--lang=de"}), 2, {"lang", "xx"});
  expect_error(run({"plot", "none", "--lang=", "--lang=de"}), 2, {"--lang=: "});
  EXPECT_FALSE(exists("--lang=de"));
}

TEST_F(CliLanguage, ErrorsOfCardsFollowTheOption) {
  for (const char* code : {"zh", "ja", "de"}) {
    const ProgramResult result = run(Words{"plan"} + tiny({"--device=emulated", "--card=rtx5090",
                                                           std::string("--lang=") + code}));
    EXPECT_NE(result.exit_code, 0);
    EXPECT_FALSE(report::has_english(result.err)) << result.err;
  }
}

TEST_F(CliLanguage, ErrorsOfDataHaveNoEnglishLeft) {
  ASSERT_EQ(train().exit_code, 0);
  folder_.write("data/odd/train.bin", "123");
  folder_.write("data/short/train.bin", "12");
  folder_.write("data/empty/train.bin", "");
  folder_.write("data/mine/input.txt", "text");
  std::string another_alphabet;  // of the same size
  for (const char c : small_text()) another_alphabet += c == 'e' ? "\u00e4" : std::string(1, c);
  folder_.write("zweite.txt", another_alphabet);
  ASSERT_EQ(run({"prepare", "char", "zweite.txt", "data/zweite"}).exit_code, 0);
  const Words cases[] = {{"--dataset=odd"},
                         {"--dataset=short"},
                         {"--dataset=empty"},
                         {"--dataset=mine"},
                         {"--dataset=none"},
                         {"--dataset=shakespeare_char"},
                         {"--dataset=zweite", "--init_from=resume"}};
  for (const Words& wrong : cases) {
    for (const char* code : {"zh", "ja", "de"}) {
      const ProgramResult result = train(wrong + Words{std::string("--lang=") + code});
      EXPECT_EQ(result.exit_code, 4) << result.err;
      EXPECT_FALSE(report::has_english(result.err)) << result.err;
    }
  }
}

TEST_F(CliLanguage, ThePageIsInTheLanguageToo) {
  for (const auto& [code, words] : {std::pair{"de", "Speicherplan"}, {"ja", "メモリ計画"}}) {
    ASSERT_EQ(
        run(Words{"plan", "--html=plan.html"} + on_card({std::string("--lang=") + code})).exit_code,
        0);
    const std::string tag = std::string("<html lang=\"") + code;
    expect_holds(read("plan.html"), {words, tag.c_str()});
    expect_holds(read("plan.html"), {"\"may_be_used\":\"", "{0}"});  // filled by the script
  }
}

TEST_F(CliLanguage, TheDoctorsHelpIsInTheReadersLanguage) {
  const std::pair<const char*, const char*> expected[] = {{"en", "Needs no card and runs nothing."},
                                                          {"zh", "不需要显卡"},
                                                          {"ja", "GPU は不要"},
                                                          {"de", "Braucht keine Karte"}};
  for (const auto& [code, words] : expected) {
    const std::string lang = std::string("--lang=") + code;
    const std::string text = run({"doctor", "--help", lang}).out;
    expect_holds(text, {words, "--snapshot=FILE", "--torch=older", "snug doctor config/"});
    EXPECT_EQ(run({"help", "doctor", lang}).out, text);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(report::columns_of(line), 86u) << line;
    }
  }
}

TEST_F(CliLanguage, SnapshotsThatCannotBeReadAreSaidInTheLanguage) {
  folder_.write("text.pickle", "hello");
  for (const char* code : {"zh", "ja", "de"}) {
    for (const char* file : {"text.pickle", "none.pickle", "data"}) {
      const ProgramResult result =
          run({"doctor", std::string("--snapshot=") + file, std::string("--lang=") + code});
      EXPECT_EQ(result.exit_code, 4) << result.err;
      EXPECT_FALSE(report::has_english(result.err)) << result.err;
    }
  }
}

TEST_F(CliLanguage, TheManPageHasEveryCommand) {
  const ProgramResult man = run({"--man"});
  EXPECT_EQ(man.exit_code, 0) << man.err;
  expect_holds(man.out, {".TH SNUG 1", ".SH \"SNUG TRAIN\"", ".SH \"SNUG DOCTOR\"", "\\-\\-card"});
  expect_holds(run({"--version"}).out, {"snug ", "trains on", "cpu"});
}

}  // namespace
}  // namespace snug
