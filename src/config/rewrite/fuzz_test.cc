// Random files and random bytes: rewriting holds its promise or refuses.
#include <algorithm>
#include <random>

#include "config/rewrite/for_test.h"

namespace snug::config::rewrite {
namespace {

// Random files of lines, each with the names that it sets and reads.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  struct Line {
    std::string text, line_end;  // text has the end, too
    std::vector<std::string> names;
  };

  template <typename T>
  const T& pick(const std::vector<T>& list) {
    return list[std::uniform_int_distribution<std::size_t>(0, list.size() - 1)(random_)];
  }
  bool chance(double p) { return std::bernoulli_distribution(p)(random_); }

  std::vector<Line> file() {
    helpers_.clear();
    line_end_ = pick<std::string>({"\n", "\n", "\r\n", "\r"});
    std::vector<Line> lines(std::uniform_int_distribution<std::size_t>(0, 12)(random_));
    for (Line& line : lines) line = next_line();
    return lines;
  }

  Changes changes() {
    Changes changes;
    for (const std::string& key : kWhole) {
      if (chance(0.3)) changes.push_back({key, "0", pick<std::string>({"1", "2", "5", "48"})});
    }
    if (chance(0.3)) changes.push_back({"dropout", "0.0", pick<std::string>({"0.25", "1e-05"})});
    if (chance(0.3)) changes.push_back({"out_dir", "''", pick<std::string>({"'#;'", "'\\n'"})});
    if (chance(0.3)) changes.push_back({"bias", "False", pick<std::string>({"True", "False"})});
    return changes;
  }

 private:
  const std::vector<std::string> kWhole = {"batch_size", "block_size", "n_layer", "n_head", "seed"};
  const std::vector<std::string> kHelpers = {"tokens", "wish", "half"};

  std::string name() {
    std::vector<std::string> known = kWhole;
    known.insert(known.end(), helpers_.begin(), helpers_.end());
    names_.push_back(pick(known));
    return names_.back();
  }

  std::string number(int depth) {
    if (depth == 0 || chance(0.3)) return pick<std::string>({"3", "0x10", "1_0", "(7)", "64"});
    if (chance(0.5)) return name();
    const std::string a = number(depth - 1), b = number(depth - 1);
    return pick<std::string>({a + " + " + b, "(" + a + ") *(" + b + ") % 97",
                              "(" + a + " if " + b + " > 5 else 8)", "max(" + a + ", " + b + ")",
                              "abs(-" + a + ") // 2"});
  }

  std::string wrapped(const std::string& value) {
    if (chance(0.8)) return value;
    return pick<std::string>(
        {"(\n  " + value + ")", "( # it's\n" + value + " # \"two\n )", "\\\n  " + value});
  }

  std::string statement() {
    const std::string is = pick<std::string>({"=", " = ", " =\t", "  = "});
    switch (std::uniform_int_distribution<int>(0, 8)(random_)) {
      case 0:
        return pick<std::string>({"pass", "import time", "'batch_size = 3'", "'''a\nb'''"});
      case 1: {
        const std::string value = wrapped(number(2)), helper = pick(kHelpers);
        names_.push_back(helper);
        if (std::find(helpers_.begin(), helpers_.end(), helper) == helpers_.end()) {
          helpers_.push_back(helper);
        }
        return helper + is + value;
      }
      case 2:
        return name() + pick<std::string>({"+=", " *= ", " -= "}) + wrapped(number(1));
      case 3: {
        const std::string first = name(), second = name();
        return first + is + second + is + wrapped(number(1));
      }
      case 4:
        names_.push_back("out_dir");
        return "out_dir" + is +
               wrapped(pick<std::string>(
                   {"'a#'", "'''x\n'y'''", "'n' + str(" + number(1) + ")", "out_dir + 'é'"}));
      case 5:
        names_.push_back("dropout");
        return "dropout" + is + wrapped(pick<std::string>({"0.5", "1e-3 * 2", "dropout / 2"}));
      case 6:
        names_.push_back("bias");
        return "bias" + is + wrapped(pick<std::string>({"True", "not bias", name() + " > 9"}));
      default:
        return name() + is + wrapped(number(2));
    }
  }

  Line next_line() {
    names_.clear();
    std::string text;
    if (chance(0.8)) {
      text = statement();
      while (chance(0.2)) text += pick<std::string>({";", "; "}) + statement();
      if (chance(0.1)) text += ";";
    }
    text += pick<std::string>({"", "", "  ", "# c", " # it's", "\t# é", "  # was: 3",
                               "  # was: 3 apples", " # was: seed = 3"});
    std::string raw;
    for (const char c : text + "\n") raw += c == '\n' ? line_end_ : std::string(1, c);
    return {raw, line_end_, names_};
  }

  std::mt19937 random_;
  std::string line_end_;
  std::vector<std::string> helpers_, names_;
};

std::string joined(const std::vector<Generator::Line>& lines) {
  std::string text;
  for (const Generator::Line& line : lines) text += line.text;
  return text;
}

// Lines that have nothing to do with a changed key stand in the result as they were, in order, the
// first of them at its start if it was so; and no comment is lost.
void check_bytes(const std::vector<Generator::Line>& lines, const Changes& changes,
                 const std::string& text) {
  std::size_t at = 0;
  bool anchored = true;
  for (const Generator::Line& line : lines) {
    const bool concerned = std::any_of(changes.begin(), changes.end(), [&](const Change& change) {
      return std::count(line.names.begin(), line.names.end(), change.key) > 0;
    });
    if (concerned) {
      anchored = false;
      continue;
    }
    std::size_t found = at;
    if (!anchored) {
      found = text.find(line.line_end + line.text, at);
      ASSERT_NE(found, text.npos) << line.text << "\n--- in ---\n" << text;
      found += line.line_end.size();
    }
    ASSERT_EQ(text.substr(found, line.text.size()), line.text) << text;
    at = found + line.text.size();
    anchored = true;
  }
  for (const char* comment : {"# c", "# it's", "# \xC3\xA9", "# \"two", "# was: 3 apples"}) {
    const auto count = [&](const std::string& where) {
      int n = 0;
      for (std::size_t i = where.find(comment); i != where.npos; i = where.find(comment, i + 1))
        ++n;
      return n;
    };
    ASSERT_GE(count(text), count(joined(lines))) << comment << "\n" << text;
  }
}

TEST(RewriteFuzz, HoldsItsPromise) {
  Generator generator(7);
  int rewritten_count = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::vector<Generator::Line> lines = generator.file();
    const Changes changes = generator.changes();
    const std::string source = joined(lines);
    try {
      read_values(source);
    } catch (const ConfigError&) {  // a number became too large
      continue;
    }
    check_bytes(lines, changes, rewritten(source, changes));
    if (::testing::Test::HasFailure()) FAIL() << "of file " << i << "\n" << source;
    ++rewritten_count;
  }
  EXPECT_GT(rewritten_count, 800);
}

// Whatever the bytes are, they are rewritten as promised or refused as unreadable.
TEST(RewriteFuzz, TakesAnyBytes) {
  const std::string valid =
      "\xEF\xBB\xBF'''doc'''\r\nimport time; n_layers = 3\r\nout_dir = 'é' + str(time.time())\n"
      "batch_size = n_head = 5 * 8  # was: 12 # c\nseed += (batch_size # in\n  - 2)\\\n\n"
      "n_layer = n_layers\nmax_iters = 4 if n_head > 2 else [n_head]; x = n_head, 3\n"
      "start = r'a' '''b\nc'''; eval_only = not bias # was: start = 'x'; eval_only = 1\n";
  const Changes changes = {{"batch_size", "40", "4"},
                           {"n_layer", "3", "2"},
                           {"start", "''", "'#'"},
                           {"n_head", "40", "8"},
                           {"dropout", "0.0", "0.5"}};
  const std::vector<std::string> pieces = {"\n", "\r", ";", "#", "\\\n",     "'",
                                           "(",  ")",  " ", "3", "n_head = "};
  std::mt19937 random(5);
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  int rewritten_count = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = valid;
    for (std::size_t edits = below(4); edits > 0; --edits) {
      const std::size_t at = below(text.size());
      if (below(2) == 0) text.erase(at, below(6));
      if (below(2) == 0) text.insert(at, pieces[below(pieces.size())]);
      if (below(4) == 0) text.insert(at, text.substr(below(text.size()), below(30)));
    }
    try {
      const std::string once = rewrite_config("mine.py", text, changes, "to fit").text;
      EXPECT_EQ(rewrite_config("mine.py", once, changes, "to fit").text, once);
      ++rewritten_count;
    } catch (const ConfigError& error) {
      EXPECT_STRNE(error.what(), "");
    } catch (const InternalError& error) {
      FAIL() << error.what() << "\n" << text;
    }
  }
  EXPECT_GT(rewritten_count, 1000);
}

}  // namespace
}  // namespace snug::config::rewrite
