// Errors are thrown in English and said in the reader's language by the catalogue. This reads the
// sources for the sentences that a refusal is made of: one without a row fails here, on the day
// that it is written (decision 0061).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "architecture/source_tree.h"
#include "report/catalogue/error_texts.h"

namespace snug {
namespace {

// Whose errors a reader meets. Not here: backend, plan, program, model and ops, whose checks a
// config has passed before; doctor and report, which speak four languages themselves.
const std::set<std::string> kFolders = {"base",   "checkpoint", "cli",     "config",    "data",
                                        "device", "fit",        "formats", "machine",   "metrics",
                                        "pickle", "prepare",    "profile", "tokenizer", "train"};

// Pieces that a longer line is put together from; the whole lines have their rows.
const std::set<std::string> kPieces = {
    "7 bytes7 instead of 7",
    "7 does not know '7'7",
    "7 became 7 at iteration 7: training has diverged",
    "7 is 7, not a file",
    "a file of that name is in the way",
    "a folder",
    "a pipe or device",
    "it is cut off: 7 more bytes wanted, 7 left",
    "its checksum is another",
    "not enough disk space for 7 in 7",
    "standard input",
    "the gradient norm",
    "the loss",
    "the model was trained on '7', but 7/meta.pkl 7",
    "the model was trained with 7, the data set has 77",
    "the text could not be fetched (exit code 7 of 7)77",
    "the validation loss",
    "what was fetched is not the text that it should be: 7",
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::size_t after_comment(std::string_view text, std::size_t at) {
  return std::min(text.find('\n', at), text.size());
}

// The literals of one statement; those that stand beside each other are one.
std::vector<std::string> literals_of(std::string_view text, std::size_t at) {
  std::vector<std::string> literals;
  bool joined = false;
  for (; at < text.size() && text[at] != ';' && text[at] != '{'; ++at) {
    if (text.substr(at, 2) == "//") at = after_comment(text, at);
    if (text[at] == '\'') {
      at += text[at + 1] == '\\' ? 3 : 2;
    } else if (text[at] == '"') {
      if (!joined) literals.emplace_back();
      for (++at; text[at] != '"'; ++at) {
        literals.back() += text[at];
        if (text[at] == '\\') literals.back() += text[++at];
      }
      joined = true;
    } else if (std::isspace(static_cast<unsigned char>(text[at])) == 0) {
      joined = false;
    }
  }
  return literals;
}

// An argument that touches a word or another argument is a part that may be left out.
bool is_optional(std::string_view literal, std::size_t open, std::size_t close) {
  const char before = open > 0 ? literal[open - 1] : ' ';
  const char after = close + 1 < literal.size() ? literal[close + 1] : ' ';
  return is_word(before) || before == '}' || is_word(after) || after == '`';
}

// What fmt makes of a literal, with 7 for its arguments.
std::string formatted(std::string_view literal, bool with_optional) {
  std::string text;
  for (std::size_t at = 0; at < literal.size(); ++at) {
    const std::string_view two = literal.substr(at, 2);
    if (two == "\\n") {
      text += '\n';
      ++at;
    } else if (two == "{{" || two == "}}" || two[0] == '\\') {
      text += two[1];
      ++at;
    } else if (two[0] == '{') {
      const std::size_t close = literal.find('}', at);
      if (with_optional || !is_optional(literal, at, close)) text += '7';
      at = close;
    } else {
      text += two[0];
    }
  }
  return text;
}

bool starts_refusal(std::string_view text, std::size_t at) {
  if (at > 0 && is_word(text[at - 1])) return false;
  std::size_t end = at;
  while (end < text.size() && is_word(text[end])) ++end;
  const std::string_view word = text.substr(at, end - at);
  if (word == "throw") return !text.substr(end).starts_with(" InternalError");
  return (word.starts_with("fail") || word.starts_with("refuse") || word == "FileError") &&
         text.substr(end, 1) == "(";
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    lines.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return lines;
}

// Each line with all arguments, and beside it the one without optional parts.
std::map<std::string, std::string> refusal_lines(std::string_view text) {
  std::map<std::string, std::string> lines;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at, 2) == "//") at = after_comment(text, at);
    if (at >= text.size() || !starts_refusal(text, at)) continue;
    for (const std::string& literal : literals_of(text, at)) {
      const std::vector<std::string> whole = lines_of(formatted(literal, true));
      const std::vector<std::string> shorter = lines_of(formatted(literal, false));
      for (std::size_t i = 0; i < whole.size(); ++i) lines.emplace(whole[i], shorter[i]);
    }
  }
  return lines;
}

// Names, commands and what is put behind a sentence are none.
bool is_sentence(const std::string& line) {
  int words = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const bool begins =
        std::isalpha(static_cast<unsigned char>(line[at])) != 0 && (at == 0 || line[at - 1] == ' ');
    words += begins ? 1 : 0;
  }
  return words >= 2 && std::string_view(" ,;:").find(line[0]) == std::string_view::npos &&
         !line.starts_with("snug ");
}

// As it stands, or in the surroundings that its folder gives it.
bool has_row(const std::string& line) {
  constexpr std::array<std::pair<const char*, const char*>, 9> kSurroundings = {
      {{"", ""},
       {"x.bin: ", ""},
       {"x.bin ", ""},
       {"x.bin, line 7: ", ""},
       {"x.bin: tensor t ", ""},
       {"", " x.bin: why"},
       {"x.bin ", ": why"},
       {"cannot ", " x.bin: why"},
       {"", ": 7"}}};
  return std::ranges::any_of(kSurroundings, [&](const auto& around) {
    const std::string text = around.first + line + around.second;
    return report::translated(report::Language::kGerman, text) != text;
  });
}

// Not the self-test of a card, which users run.
bool is_of_tests(const std::string& path) {
  static const std::set<std::string> kMarks = {"_test.", "testing", "_for_test", "test_directory",
                                               "test_case.h"};
  return std::ranges::any_of(
      kMarks, [&](const std::string& mark) { return path.find(mark) != std::string::npos; });
}

TEST(ErrorLines, EveryRefusalCanBeReadInEveryLanguage) {
  std::set<std::string> found;
  for (const auto& file : architecture::read_tree(SNUG_SOURCE "/src")) {
    const std::string folder = file.path.substr(0, file.path.find('/'));
    const bool is_for_users = !is_of_tests(file.path) && file.path != "base/temporary_folder.h" &&
                              file.path != "data/tales/tale_grammar.cc";  // bugs of a built-in text
    if (!kFolders.contains(folder) || !is_for_users) continue;
    for (const auto& [line, shorter] : refusal_lines(file.text)) {
      if (!is_sentence(line)) continue;
      found.insert(line);
      if (kPieces.contains(line)) continue;
      EXPECT_TRUE(has_row(line) || has_row(shorter))
          << "src/" << file.path << ": \"" << line
          << "\"\nhas no row in src/report/catalogue/*_error_texts.cc";
    }
  }
  EXPECT_GT(found.size(), 400u) << "the sources are no longer understood";
  for (const std::string& piece : kPieces) {
    EXPECT_TRUE(found.contains(piece)) << piece << ": no source has it any more";
  }
}

TEST(ErrorLines, ASentenceWithoutARowIsNoticed) {
  const std::map<std::string, std::string> lines = refusal_lines(
      "// throw DataError(\"a comment\");\n"
      "if (x) throw DataError(fmt::format(\"{} has {:02X} moods\\nsay {{x}}{} \"\n  \"again\", "
      "a));\n"
      "fail(is_it ? \"one way\" : \"other; way\"); other(\"not looked at\");");
  EXPECT_EQ(lines, (std::map<std::string, std::string>{{"7 has 7 moods", "7 has 7 moods"},
                                                       {"say {x}7 again", "say {x} again"},
                                                       {"one way", "one way"},
                                                       {"other; way", "other; way"}}));
  EXPECT_FALSE(has_row("7 has 7 moods"));
  EXPECT_TRUE(has_row("7 is empty"));
}

}  // namespace
}  // namespace snug
