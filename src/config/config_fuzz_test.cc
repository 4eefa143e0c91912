// Whatever bytes come in, the reader returns or throws ConfigError, soon.
#include <gtest/gtest.h>

#include <random>

#include "config/config_for_test.h"
#include "config/diagnostic.h"
#include "config/python/reader.h"

namespace snug::config {
namespace {

constexpr const char* kValid =
    "import time\n\"\"\"doc\"\"\"\nout_dir = 'out-' + str(time.time())\nbatch_size = 5 * 8\n"
    "tokens = 1_000_000\nmax_iters = tokens // (batch_size * 0x10)\nlearning_rate = 6e-4\n"
    "min_lr = learning_rate / 10; dropout = 0.1 if max_iters > 10 and not eval_only else 0.0\n"
    "start = \"a\\n\\x41\\u00e9\" r'\\d' '''tri\nple'''\nwarmup_iters = min(10, round(3.5), "
    "abs(-2)) \\\n"
    "  + 2 ** 3 % 5\nbetas = [0.9, (1, 2)]\nn_head = n_embd = 64\neval_iters += 1 # comment\n";

constexpr const char* kPieces[] = {"(",
                                   ")",
                                   "[",
                                   "]",
                                   "**",
                                   "//",
                                   "%",
                                   "-",
                                   "+",
                                   "*",
                                   "'",
                                   "\"",
                                   "'''",
                                   "\\",
                                   "\n",
                                   "\r\n",
                                   " ",
                                   "\t",
                                   "#",
                                   ";",
                                   "=",
                                   "==",
                                   ",",
                                   ".",
                                   "if ",
                                   " else ",
                                   "not ",
                                   "and ",
                                   "9223372036854775807",
                                   "1e308",
                                   "0x",
                                   "1_",
                                   "int(",
                                   "str(",
                                   "round(",
                                   "time.time()",
                                   "for",
                                   "lambda",
                                   "None",
                                   "True",
                                   "n_embd",
                                   "\xC3\xA9",
                                   "\xFF",
                                   "\\u",
                                   "\\N",
                                   "f'",
                                   "@",
                                   "$"};

// Throws only ConfigError. The text goes past the file reader's checks when it may.
void read_anything(const std::string& text) {
  LoadedConfig config;
  python::PythonReader reader(config);
  try {
    if (!is_utf8(text)) return;
    reader.read(SourceFile("fuzz", text));
    reader.finish();
    resolve(config);
  } catch (const ConfigError& error) {
    EXPECT_STRNE(error.what(), "");
  }
}

std::string mutated(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  for (std::size_t edits = 1 + below(6); edits > 0 && !text.empty(); --edits) {
    const std::size_t at = below(text.size());
    switch (below(5)) {
      case 0:
        text.erase(at, 1 + below(8));
        break;
      case 1:
        text.insert(at, kPieces[below(std::size(kPieces))]);
        break;
      case 2:
        text[at] = static_cast<char>(below(256));
        break;
      case 3:
        text.insert(at, text.substr(below(text.size()), below(40)));
        break;
      default:
        std::swap(text[at], text[below(text.size())]);
    }
  }
  return text;
}

TEST(ConfigFuzz, MutatedConfigs) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) read_anything(mutated(kValid, random));
}

TEST(ConfigFuzz, RandomPieces) {
  std::mt19937 random(2);
  std::uniform_int_distribution<std::size_t> piece(0, std::size(kPieces) - 1), length(0, 30);
  for (int i = 0; i < 20000; ++i) {
    std::string text = i % 2 ? "x = " : "";
    for (std::size_t n = length(random); n > 0; --n) text += kPieces[piece(random)];
    read_anything(text);
    (void)python::read_literal(text);
  }
}

TEST(ConfigFuzz, RandomBytesInFilesAndArguments) {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> byte(0, 255), ascii(1, 126), length(0, 60);
  for (int i = 0; i < 300; ++i) {
    std::string text, key;
    for (int n = length(random); n > 0; --n) text += static_cast<char>(byte(random));
    for (int n = length(random); n > 0; --n) key += static_cast<char>(ascii(random));
    (void)text_error(text);
    (void)argument_error({"--" + key});
    (void)argument_error({"--start=" + text});
    (void)argument_error(
        {"--" + all_keys()[static_cast<std::size_t>(i) % all_keys().size()] + "=" + key});
  }
}

// Input that recursion, squaring or copying would choke on, up to the largest file.
TEST(ConfigFuzz, HostileShapes) {
  const auto repeat = [](const std::string& text, std::size_t bytes) {
    std::string result;
    while (result.size() < bytes) result += text;
    return result;
  };
  constexpr std::size_t kMuch = 300000;
  for (const char* unit : {"(",
                           "[",
                           "-",
                           "not ",
                           "1+",
                           "2**",
                           "1 if 1 else ",
                           "str(",
                           "'a' ",
                           "1<",
                           "x=",
                           "1 or ",
                           "1,",
                           "\\\n",
                           "'",
                           "\"\"\"",
                           "9",
                           "0.",
                           ";",
                           "batch_size=3;",
                           "{"}) {
    read_anything("x = " + repeat(unit, kMuch));
    read_anything(repeat(unit, kMuch));
    read_anything("x = " + repeat(unit, kMuch) + "1\nbatch_size = 3\n");
  }
  read_anything("s = 'a' * 16384\n" + repeat("t = s\n", kMuch));
  read_anything("s = 'a'\n" + repeat("s = s + s\n", kMuch));
  read_anything("n = 3\n" + repeat("n = n ** n\n", kMuch));
  std::string names;
  for (int i = 0; i < 50000; ++i) names += "name_" + std::to_string(i) + " = 1\n";
  read_anything(names);
}

TEST(ConfigFuzz, NestingThatPeopleWriteIsRead) {
  EXPECT_EQ(load_text("batch_size = " + std::string(50, '(') + "7" + std::string(50, ')'))
                .values.batch_size,
            7);
  std::string sum = "batch_size = 1";
  for (int i = 0; i < 300; ++i) sum += " + 1";
  EXPECT_EQ(load_text(sum).values.batch_size, 301);
}

}  // namespace
}  // namespace snug::config
