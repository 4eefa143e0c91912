#include "report/catalogue/messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "report/columns.h"
#include "report/doctor/english_for_test.h"
#include "report/doctor/for_test.h"

namespace snug::report {
namespace {

std::set<char> placeholders(std::string_view text) {
  std::set<char> found;
  for (std::size_t i = 0; i + 2 < text.size(); ++i) {
    if (text[i] == '{' && text[i + 2] == '}') found.insert(text[i + 1]);
  }
  return found;
}

// Chinese and Japanese characters and marks.
bool has_wide(const std::string& text) {
  std::size_t characters = 0;
  for (const char c : text) characters += (c & 0xC0) != 0x80 ? 1 : 0;
  return columns_of(text) > characters;
}

TEST(Messages, EveryTextExistsInEveryLanguageWithTheSamePlaceholders) {
  for (const CatalogueRow& row : whole_catalogue()) {
    for (const char* text : row.texts) {
      ASSERT_NE(text, nullptr) << row.name;
      EXPECT_FALSE(std::string_view(text).empty()) << row.name;
      EXPECT_EQ(placeholders(text), placeholders(row.texts[0])) << row.name << ": " << text;
      EXPECT_EQ(clean(text).find("\xEF\xBF\xBD"), std::string::npos) << row.name;
    }
  }
}

TEST(Messages, PlaceholdersCountFromZero) {
  for (const CatalogueRow& row : whole_catalogue()) {
    char expected = '0';
    for (const char c : placeholders(row.texts[0])) EXPECT_EQ(c, expected++) << row.name;
  }
}

TEST(Messages, NoLanguageHasEnglishSentences) {
  for (const CatalogueRow& row : whole_catalogue()) {
    for (const Language language : {Language::kChinese, Language::kJapanese, Language::kGerman}) {
      const std::string text = row.texts[static_cast<std::size_t>(language)];
      EXPECT_FALSE(has_english(text)) << row.name << ": " << text;
      // Of tensors some have PyTorch's own name.
      const bool is_name = row.name.starts_with("tensor.") && text == row.texts[0];
      EXPECT_TRUE(is_name || language == Language::kGerman || has_wide(text))
          << row.name << ": " << text;
    }
  }
}

TEST(Messages, TheTestKnowsEnglishWhenItSeesIt) {
  EXPECT_TRUE(has_english("显存 is full"));
  EXPECT_TRUE(has_english("Die card ist voll"));
  EXPECT_FALSE(has_english("请设置 expandable_segments:True"));
  EXPECT_FALSE(has_english("im Ordner /tmp/snug-test-9of3Ka"));
  EXPECT_TRUE(has_english("im Ordner /tmp/snug-test-9of3Ka is full"));
}

TEST(Messages, EverythingOfTheDoctorHasWords) {
  for (const Language language : kAllLanguages) {
    for (const doctor::diagnosis::Note& note : diagnosis_with_all_notes().notes) {
      EXPECT_EQ(text_in(language, note).find('?'), std::string::npos) << name_of(note.id);
      const std::string without = text_in(language, doctor::diagnosis::Note{note.id, {}});
      EXPECT_FALSE(without.empty()) << name_of(note.id);
    }
  }
}

TEST(Messages, ANoteWithoutItsFigureIsStillASentence) {
  EXPECT_EQ(text_in(Language::kEnglish,
                    doctor::diagnosis::Note{doctor::diagnosis::NoteId::kHostKilled, {""}}),
            "The kernel ended the process for lack of RAM.");
  EXPECT_EQ(text_in(Language::kEnglish,
                    doctor::diagnosis::Note{doctor::diagnosis::NoteId::kHostKilled, {"3.00 GiB"}}),
            "The kernel ended the process for lack of RAM; it held 3.00 GiB.");
}

TEST(Messages, FilledLeavesOtherBracesAlone) {
  EXPECT_EQ(filled("{1} and {0}, {2}, { x }", std::vector<std::string>{"a", "b"}),
            "b and a, ?, { x }");
  EXPECT_EQ(filled("{0}", std::vector<std::string>{"{0}"}), "{0}");
}

TEST(Messages, EveryAssumptionIsASentence) {
  doctor::torch::TorchRun older = run_for_test();
  older.version = doctor::torch::TorchVersion::kOlder;
  older.flash = older.fused_adam = false;
  older.ddp = older.resumed = older.compiled = true;
  older.checkpoint_blocks = 5;
  older.accumulation_steps = 1;
  doctor::torch::TorchRun single = run_for_test();
  single.compute = DType::kF32;
  doctor::torch::TorchRun odd = single;
  odd.n_head = 1;
  odd.n_embd = 7;
  for (const doctor::torch::TorchRun& run : {run_for_test(), older, single, odd}) {
    for (const doctor::torch::TorchAssumption& assumption : doctor::torch::torch_assumptions(run)) {
      for (const Language language : kAllLanguages) {
        EXPECT_EQ(text_in(language, assumption).find('?'), std::string::npos)
            << doctor::torch::name_of(assumption.id);
      }
    }
  }
  EXPECT_EQ(text_in(Language::kEnglish,
                    doctor::torch::TorchAssumption{doctor::torch::TorchAssumptionId::kCheckpoint,
                                                   {"5", "12"}}),
            "torch.utils.checkpoint (not reentrant) wraps the first 5 of 12 blocks: each keeps its "
            "fp32 input and is recomputed in backward");
}

TEST(Language, FollowsTheOptionThenTheLocale) {
  EXPECT_EQ(language_of("ja", "de_DE.UTF-8"), Language::kJapanese);
  EXPECT_EQ(language_of("", "zh_CN.UTF-8"), Language::kChinese);
  EXPECT_EQ(language_of("", "de"), Language::kGerman);
  EXPECT_EQ(language_of("", "ja-JP"), Language::kJapanese);
  for (const char* locale : {"zh_TW.UTF-8", "zh_HK", "zh-Hant", "zh_Hant_TW.UTF-8", "zh_MO"}) {
    EXPECT_EQ(language_of("", locale), Language::kEnglish) << locale;
  }
  EXPECT_EQ(language_of("", "zh_SG.UTF-8"), Language::kChinese);
  EXPECT_EQ(language_of("", "C.UTF-8"), Language::kEnglish);
  EXPECT_EQ(language_of("", "den_XX"), Language::kEnglish);
  EXPECT_EQ(language_of("", nullptr), Language::kEnglish);
}

TEST(Language, AnUnknownOptionNamesTheFourInTheLocalesLanguage) {
  const auto error_of = [](const char* locale) -> std::string {
    try {
      language_of("fr", locale);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of(nullptr), "--lang=fr: the languages are en, zh, ja and de");
  EXPECT_EQ(error_of("de_DE"), "--lang=fr: Die Sprachen sind en, zh, ja und de");
}

}  // namespace
}  // namespace snug::report
