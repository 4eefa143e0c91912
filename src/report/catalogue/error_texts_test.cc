#include "report/catalogue/error_texts.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/input_file.h"
#include "base/temporary_folder.h"
#include "config/config.h"
#include "fit/budget.h"
#include "fit/cards.h"
#include "report/doctor/english_for_test.h"

namespace snug::report {
namespace {

template <typename Act>
std::string error_of(const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string config_error(std::vector<std::string> arguments) {
  return error_of([&] { config::load_config(config::Command::kPlan, arguments); });
}

// Of a config file that holds this.
std::string file_error(const std::string& text) {
  const TemporaryFolder folder;
  std::ofstream(folder.path("a.py")) << text;
  return config_error({folder.path("a.py")});
}

// Every error that most people meet, as it is thrown: a line that lost its row is named here.
TEST(ErrorTexts, LinesOfErrorsHaveRows) {
  const std::string errors[] = {
      config_error({"--n_embd=512", "--n_head=12"}),
      config_error({"--btach_size=3"}),
      config_error({"batch_size"}),
      config_error({"config/none.py"}),
      config_error({"--checkpoint_blocks=99"}),
      config_error({"--eval_block_size=4096"}),
      config_error({"--effective_batch=13", "--batch_size=4"}),
      config_error({"--memory_budget=lots"}),
      config_error({"--headroom=lots"}),
      config_error({"--batch_size=0"}),
      config_error({"--batch_size=many"}),
      config_error({"--learning_rate=-1"}),
      config_error({"--dropout=2"}),
      config_error({"--dtype=int8"}),
      config_error({"--compile=maybe"}),
      error_of([] { InputFile("/nowhere/snapshot.pickle"); }),
      config_error({"--bias=3"}),
      config_error({"--dtype=float8"}),
      config_error({"--device=mps"}),
      config_error({"--init_from=gtp2"}),
      config_error({"--eval_iters"}),
      config_error({"-batch_size=3"}),
      config_error({"--memory_budget=12"}),
      config_error({"--max_iters=99999999999999999999"}),
      file_error("batch_size = 3 +\n"),
      file_error("import os\n"),
      file_error("def f():\n  pass\n"),
      file_error("batch_size = 1 / 0\n"),
      file_error("batch_size = 12 / 5\n"),
      file_error("batch_size = 'many'\n"),
      file_error("  batch_size = 3\n"),
      file_error("batch_size: int = 3\n"),
      file_error("batch_size = len('abc')\n"),
      file_error("dtype = torch.float16\n"),
      file_error("out_dir = 'out\n"),
      file_error("batch_size = (3\n"),
      file_error("batch_size, n_head = 3, 4\n"),
      file_error("if True:\n"),
      file_error("batch_size\n"),
      file_error("batch_size = 12abc\n"),
      file_error("out_dir = \u201cout\u201d\n"),
      error_of([] { fit::card_named("rtx3061"); }),
      error_of([] { fit::card_named("a100"); }),
      error_of([] { fit::card_budget(fit::card_named("rtx3060"), "auto", "20GiB"); }),
  };
  for (const std::string& error : errors) {
    ASSERT_FALSE(error.empty());
    for (const Language language : {Language::kChinese, Language::kJapanese, Language::kGerman}) {
      const std::string text = translated(language, error);
      EXPECT_NE(text, error);
      EXPECT_FALSE(has_english(text)) << text;
    }
    EXPECT_EQ(translated(Language::kEnglish, error), error);
  }
}

TEST(ErrorTexts, NumbersAreWrittenAsTheReaderDoes) {
  EXPECT_EQ(translated(Language::kGerman, "batch_size takes 1 to 16,384"),
            "batch_size muss zwischen 1 und 16.384 liegen");
  EXPECT_EQ(translated(Language::kJapanese, "batch_size takes 1 to 16,384"),
            "batch_size に使えるのは 1 から 16,384 です");
  EXPECT_EQ(translated(Language::kChinese, "batch_size takes 1 to 16,384"),
            "batch_size 可取 1 至 16,384");
  EXPECT_EQ(
      translated(Language::kGerman,
                 "planned for a larger machine: of this one's memory 22.55 GiB is available now"),
      "geplant für einen größeren Rechner: hier sind jetzt 22,55 GiB verfügbar");
  // What somebody has typed stays.
  EXPECT_EQ(translated(Language::kGerman, "dropout = 1,5 is not a number"),
            "dropout = 1,5 ist keine Zahl");
}

TEST(ErrorTexts, PlacesSourcesAndNamesStay) {
  const std::string error =
      "config/mine.py:7: n_embd = 512 is not divisible by n_head = 12\n"
      "    n_embd  = 512     # safer\n              ^^^\n"
      "each head needs a whole width: n_head = 8 keeps 512 wide (64 per head), n_embd = 516 keeps "
      "12 heads";
  EXPECT_EQ(translated(Language::kGerman, error),
            "config/mine.py:7: n_embd = 512 ist nicht durch n_head = 12 teilbar\n"
            "    n_embd  = 512     # safer\n              ^^^\n"
            "Jeder Head braucht eine ganze Breite: n_head = 8 behält die Breite 512 (64 je Head), "
            "n_embd = 516 behält 12 Heads");
}

TEST(ErrorTexts, WhatIsNotKnownStaysAsItIs) {
  for (const char* text : {"", "\n", "something else", "{0}", "a\n\nb\n"}) {
    EXPECT_EQ(translated(Language::kJapanese, text), text);
  }
}

TEST(ErrorTexts, PlaceholdersStandInTheirOrderInEnglish) {
  for (const std::span<const Texts> table : all_line_tables()) {
    for (const Texts& texts : table) {
      const std::string_view english = texts[0];
      char next = '0';
      for (std::size_t at = english.find('{'); at != std::string_view::npos;
           at = english.find('{', at + 1)) {
        EXPECT_EQ(english[at + 1], next++) << english;
      }
    }
  }
}

// A command's own words are no range of a setting: half a translation is worse than none.
TEST(ErrorTexts, NoLineIsTranslatedInPart) {
  EXPECT_EQ(translated(Language::kGerman, "a thing takes one file, or - for standard input:"),
            "a thing takes one file, or - for standard input:");
}

// A line that is made of a row must be said by that row: one that another row takes away is never
// seen, and the reader gets that other one's half of a translation.
TEST(ErrorTexts, EveryRowIsTheOneThatItsLineFinds) {
  for (const std::span<const Texts> table : all_line_tables()) {
    for (const Texts& texts : table) {
      const std::vector<std::string> values = {"Q0", "Q1", "Q2", "Q3", "Q4", "Q5", "Q6", "Q7"};
      const auto said = [&](Language language) {
        return text_in(language, texts, std::span<const std::string>(values));
      };
      EXPECT_EQ(translated(Language::kGerman, said(Language::kEnglish)), said(Language::kGerman))
          << texts[0];
    }
  }
}

}  // namespace
}  // namespace snug::report
