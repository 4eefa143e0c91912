#include "config/python/reader.h"

#include <gtest/gtest.h>

#include <ctime>

#include "config/config_for_test.h"
#include "config/python/evaluator.h"
#include "config/python/parser.h"

namespace snug::config::python {
namespace {

// repr() of the expression's value.
std::string value_of(const std::string& text) {
  const SourceFile source("test", text);
  const ExpressionPtr expression = parse_expression(source);
  return python_repr(evaluate(*expression, source, [](std::string_view) -> Value {
    throw Fault{"unknown name", ""};
  }));
}

std::string first_line_of_error(const std::string& text) {
  const std::string message = error_of([&] { value_of(text); });
  return message.substr(0, message.find('\n'));
}

TEST(PythonValue, ReadsNumbersAsPython) {
  EXPECT_EQ(value_of("600_000"), "600000");
  EXPECT_EQ(value_of("0x1F"), "31");
  EXPECT_EQ(value_of("0b101 + 0o17"), "20");
  EXPECT_EQ(value_of("6e-4"), "0.0006");
  EXPECT_EQ(value_of("1e16"), "1e+16");
  EXPECT_EQ(value_of("5."), "5.0");
  EXPECT_EQ(value_of(".5"), "0.5");
  EXPECT_EQ(value_of("00"), "0");
  EXPECT_EQ(value_of("9223372036854775807"), "9223372036854775807");
}

TEST(PythonValue, RefusesWhatIsNoNumber) {
  for (const char* text :
       {"012", "1__0", "1_", "0x", "12abc", "1e", "1.2.3", "3j", "1_e5", "0b2"}) {
    EXPECT_NE(first_line_of_error(text).find("is not a number"), std::string::npos) << text;
  }
  EXPECT_EQ(first_line_of_error("9223372036854775808"),
            "test:1: 9223372036854775808 does not fit 64 bits");
  EXPECT_EQ(first_line_of_error("1e999"), "test:1: 1e999 does not fit 64 bits");
}

TEST(PythonValue, ComputesAsPython) {
  EXPECT_EQ(value_of("5 * 8"), "40");
  EXPECT_EQ(value_of("7 / 2"), "3.5");
  EXPECT_EQ(value_of("6 / 2"), "3.0");
  EXPECT_EQ(value_of("-7 // 2"), "-4");
  EXPECT_EQ(value_of("-7 % 3"), "2");
  EXPECT_EQ(value_of("7 % -3"), "-2");
  EXPECT_EQ(value_of("1 // 0.1"), "9.0");
  EXPECT_EQ(value_of("-5.0 % 5"), "0.0");
  EXPECT_EQ(value_of("2 ** 10"), "1024");
  EXPECT_EQ(value_of("2 ** -1"), "0.5");
  EXPECT_EQ(value_of("-2 ** 2"), "-4");
  EXPECT_EQ(value_of("2 ** 3 ** 2"), "512");
  EXPECT_EQ(value_of("10 - 3 - 2"), "5");
  EXPECT_EQ(value_of("2 + 3 * 4"), "14");
  EXPECT_EQ(value_of("(2 + 3) * 4"), "20");
  EXPECT_EQ(value_of("True + 1"), "2");
  EXPECT_EQ(value_of("1 ** 9000000000000000000"), "1");
}

TEST(PythonValue, RefusesWhatHasNoValue) {
  EXPECT_EQ(first_line_of_error("1 / 0"), "test:1: division by zero");
  EXPECT_EQ(first_line_of_error("1 % 0.0"), "test:1: division by zero");
  EXPECT_EQ(first_line_of_error("0 ** -1"), "test:1: division by zero");
  EXPECT_EQ(first_line_of_error("2 ** 64"), "test:1: the result does not fit 64 bits");
  EXPECT_EQ(first_line_of_error("3 ** 9000000000000000000"),
            "test:1: the result does not fit 64 bits");
  EXPECT_EQ(first_line_of_error("9223372036854775807 + 1"),
            "test:1: the result does not fit 64 bits");
  EXPECT_EQ(first_line_of_error("(-9223372036854775807 - 1) // -1"),
            "test:1: the result does not fit 64 bits");
  EXPECT_EQ(first_line_of_error("1e308 * 10"), "test:1: the result is not a finite number");
  EXPECT_EQ(first_line_of_error("(-8) ** 0.5"), "test:1: the power is not a real number");
  EXPECT_EQ(first_line_of_error("'a' * 100000000"), "test:1: the string becomes too long");
  EXPECT_EQ(first_line_of_error("'a' - 1"),
            "test:1: a string and a whole number cannot be subtracted");
  EXPECT_EQ(first_line_of_error("1 < 'a'"),
            "test:1: a whole number and a string cannot be compared");
}

TEST(PythonValue, ReadsStrings) {
  EXPECT_EQ(value_of("'a' \"b\""), "'ab'");
  EXPECT_EQ(value_of("'ft-' + str(12)"), "'ft-12'");
  EXPECT_EQ(value_of("'ab' * 2 + 2 * 'c'"), "'ababcc'");
  EXPECT_EQ(value_of(R"('\n\t\\\'\x41\u00e9\101\q')"),
            "\"\\n\\t\\\\'A\xC3\xA9"
            "A\\\\q\"");
  EXPECT_EQ(value_of(R"(r'\n')"), R"('\\n')");
  EXPECT_EQ(value_of("'''one\n'two'\n'''"), "\"one\\n'two'\\n\"");
  EXPECT_EQ(value_of("''"), "''");
  EXPECT_EQ(value_of("'a\\\nb'"), "'ab'");
  EXPECT_EQ(first_line_of_error("'abc"), "test:1: the string is never closed");
  EXPECT_EQ(first_line_of_error("'''abc\n'"), "test:1: the string is never closed");
  EXPECT_EQ(first_line_of_error(R"('\ud800')"), "test:1: this escape is not read");
  EXPECT_EQ(first_line_of_error(R"('\x4')"), "test:1: this escape is not read");
  EXPECT_EQ(first_line_of_error("f'{x + 1}'"),
            "test:1: an f-string in a config holds names only, as in f'run-{batch_size}'");
  EXPECT_EQ(first_line_of_error(R"(f'\{x}')"), "test:1: this escape is not read");
  EXPECT_EQ(value_of(R"(f'a{{b}}\n' 'c')"), R"('a{b}\nc')");
  EXPECT_EQ(value_of("f''"), "''");
  EXPECT_EQ(first_line_of_error("f'{'"),
            "test:1: an f-string in a config holds names only, as in f'run-{batch_size}'");
  EXPECT_EQ(first_line_of_error("b'x'"), "test:1: bytes are not read in a config");
}

TEST(PythonValue, ChoosesAndCompares) {
  EXPECT_EQ(value_of("1 if 2 > 1 else 0"), "1");
  EXPECT_EQ(value_of("1 if False else 2 if False else 3"), "3");
  EXPECT_EQ(value_of("5 if True else 1 / 0"), "5");
  EXPECT_EQ(value_of("0 or 'x'"), "'x'");
  EXPECT_EQ(value_of("0 and 1 / 0"), "0");
  EXPECT_EQ(value_of("not 1 == 2"), "True");
  EXPECT_EQ(value_of("1 < 2 < 3"), "True");
  EXPECT_EQ(value_of("3 < 2 < 1 / 0"), "False");
  EXPECT_EQ(value_of("None == None and None != 0"), "True");
}

TEST(PythonValue, CallsTheKnownFunctions) {
  EXPECT_EQ(value_of("int(3.9) + int('12')"), "15");
  EXPECT_EQ(value_of("int(-3.9)"), "-3");
  EXPECT_EQ(value_of("float(3)"), "3.0");
  EXPECT_EQ(value_of("float(' 1e-3 ')"), "0.001");
  EXPECT_EQ(value_of("str(0.1) + str(True) + str(None)"), "'0.1TrueNone'");
  EXPECT_EQ(value_of("min(3, 1.5, 2)"), "1.5");
  EXPECT_EQ(value_of("max(3, 1.5,)"), "3");
  EXPECT_EQ(value_of("round(2.5)"), "2");
  EXPECT_EQ(value_of("round(2.675, 2)"), "2.67");
  EXPECT_EQ(value_of("abs(-3)"), "3");
  EXPECT_EQ(first_line_of_error("int('x')"), "test:1: 'x' is not a whole number");
  EXPECT_EQ(first_line_of_error("int(1e30)"), "test:1: the result does not fit 64 bits");
  EXPECT_EQ(first_line_of_error("float('inf')"), "test:1: the result is not a finite number");
  EXPECT_EQ(first_line_of_error("min(1)"), "test:1: min() does not take 1 values");
}

TEST(PythonValue, TellsTheTime) {
  const auto before = static_cast<double>(std::time(nullptr));
  const double now = std::stod(value_of("time.time()"));
  EXPECT_GE(now, before - 1);
  EXPECT_LE(now, before + 3600);
}

TEST(PythonReader, ReadsTheFormsPeopleWrite) {
  const LoadedConfig config = load_text(
      "\xEF\xBB\xBF\"\"\"A config.\"\"\"\r\n"
      "import time; tokens = 1_000_000\r\n"
      "batch_size = block_size = 64 # both\r\n"
      "\r\n"
      "max_iters = tokens // (batch_size\r\n"
      "    * 10)   # continued\r\n"
      "warmup_iters = 1 + \\\r\n"
      "    2\r\n"
      "   # an indented comment\r\n"
      "learning_rate = 6e-4; min_lr = learning_rate / 10;\r\n"
      "eval_iters += 10\r\n"
      "out_dir = 'out-' + str(batch_size)\r\n"
      "n_head = n_head // 2\r\n"
      "dropout = 0.1 if max_iters > 100 and not eval_only else 0\r\n"
      "pass");
  EXPECT_EQ(config.values.batch_size, 64);
  EXPECT_EQ(config.values.block_size, 64);
  EXPECT_EQ(config.values.max_iters, 1562);
  EXPECT_EQ(config.values.warmup_iters, 3);
  EXPECT_DOUBLE_EQ(config.values.min_lr, 6e-5);
  EXPECT_EQ(config.values.eval_iters, 210);
  EXPECT_EQ(config.values.out_dir, "out-64");
  EXPECT_EQ(config.values.n_head, 6);
  EXPECT_EQ(config.values.dropout, 0.1);
  EXPECT_EQ(config.origins.at("max_iters").line, 5);
  EXPECT_TRUE(config.notices.empty());
}

TEST(PythonReader, LoneCarriageReturnsEndLines) {
  EXPECT_EQ(load_text("batch_size = 3\rblock_size = 5").values.block_size, 5);
}

TEST(PythonReader, ErrorsLookAsDesigned) {
  EXPECT_EQ(text_error("\nmax_iters = 1000 / 3   # a third\n"),
            "mine.py:2: max_iters = 333.3333333333333 is not a whole number\n"
            "    max_iters = 1000 / 3   # a third\n"
            "                ^^^^^^^^\n"
            "/ gives a fraction: // divides whole numbers");
  EXPECT_EQ(text_error("out_dir = 'é' + 1"),
            "mine.py:1: a string and a whole number cannot be added\n"
            "    out_dir = 'é' + 1\n"
            "              ^^^^^^^\n"
            "turn the number into text with str(...)");
}

// Every row: a config, and what its error must say in the first line.
TEST(PythonReader, RefusesWhatIsOutsideTheSubset) {
  const std::pair<const char*, const char*> rows[] = {
      {"for i in range(3):\n    batch_size = i", "mine.py:1: `for` is not read"},
      {"if True:\n    batch_size = 3", "mine.py:1: `if` is not read"},
      {"def f(): pass", "mine.py:1: `def` is not read"},
      {"x = lambda: 3", "`lambda` is not read"},
      {"x = open('secret')", "`open(...)` is not called"},
      {"exec('1')", "`exec(...)` is not called"},
      {"__import__('os').system('x')", "`__import__(...)` is not called"},
      {"x = [1, 2][0]", "`[` is not read"},
      {"x = {'a': 1}", "`{` is not read"},
      {"x = [i for i in (1, 2)]", "`for` is not read"},
      {"dtype = 'a' if torch.cuda.is_available() else 'b'", "`torch.` is not read"},
      {"x = 'a'.upper()", "attributes are not read"},
      {"x.y = 3", "`x.` is not read"},
      {"x[0] = 3", "`[` is not read"},
      {"import os", "`import os` is not read"},
      {"import time, os", "only `import time` is read"},
      {"import time as t", "`as` is not read"},
      {"from time import time", "`from` is not read"},
      {"a, b = 1, 2", "several names are set at once"},
      {"x: int = 3", "`:` is not read"},
      {"x = (y := 3)", "`:=` is not read"},
      {"x = 1 & 2", "`&` is not read"},
      {"x = 1 is 1", "`is` is not read"},
      {"True = 3", "this cannot be assigned to"},
      {"x = 3 = 4", "this cannot be assigned to"},
      {"3 + 4", "this sets nothing"},
      {"batch_size", "this sets nothing"},
      {"batch_size =", "the line ends too early"},
      {"batch_size = 1 if True", "`else` is missing"},
      {"batch_size = 12 13", "a sign is missing"},
      {"  batch_size = 3", "the line is indented"},
      {"x = (1", "`(` is never closed"},
      {"x = 1)", "`)` has no matching `(`"},
      {"x = (1]", "`]` has no matching `[`"},
      {"x = $", "`$` is not read"},
      {"x = \xE2\x80\x9C"
       "a\xE2\x80\x9D",
       "this character is not read"},
      {"x = 1 \\ 2", "unexpected `\\`"},
      {"x = round(2.5, ndigits=1)", "`=` is not read"},
      {"out_dir = 'run-%d' % 3", "% does not format strings"},
      {"max_iters = tokens", "`tokens` has no value yet"},
      {"tokens += 1", "`tokens` has no value yet"},
  };
  for (const auto& [text, wanted] : rows) {
    EXPECT_NE(text_error(text).find(wanted), std::string::npos) << text << "\n" << text_error(text);
  }
}

TEST(PythonReader, KeepsTypes) {
  EXPECT_EQ(
      load_text("max_iters = 1e4\nlearning_rate = 1\ncompile = 0\neval_only = 1").values.max_iters,
      10000);
  EXPECT_EQ(load_text("max_iters = 600000.0").values.max_iters, 600000);
  const std::pair<const char*, const char*> rows[] = {
      {"max_iters = 0.5", "max_iters = 0.5 is not a whole number"},
      {"max_iters = '5'", "max_iters = '5' is not a whole number"},
      {"max_iters = None", "max_iters = None is not a whole number"},
      {"batch_size = True", "batch_size = True is not a whole number"},
      {"beta1 = (0.9, 0.95)", "beta1 = (...) is not a number"},
      {"beta1 = 0.9, 0.95", "beta1 = (...) is not a number"},
      {"dropout = [0]", "dropout = [...] is not a number"},
      {"eval_only = 2", "eval_only = 2 is not True or False"},
      {"eval_only = 'True'", "eval_only = 'True' is not True or False"},
      {"dataset = 5", "dataset = 5 is not a string"},
  };
  for (const auto& [text, wanted] : rows) {
    EXPECT_NE(text_error(text).find(wanted), std::string::npos) << text << "\n" << text_error(text);
  }
}

TEST(PythonReader, HelperNamesAreUsedMistypedOrNoticed) {
  EXPECT_TRUE(load_text("tokens = 1000\nmax_iters = tokens * 10").notices.empty());
  EXPECT_TRUE(load_text("batchsize = 4\nbatch_size = batchsize").notices.empty());
  EXPECT_EQ(text_error("batchsize = 4"),
            "mine.py:1: batchsize is not a setting, and nothing reads it\n"
            "    batchsize = 4\n"
            "    ^^^^^^^^^\n"
            "did you mean batch_size?");
  EXPECT_NE(text_error("n_layers = 4").find("did you mean n_layer?"), std::string::npos);
  const LoadedConfig config = load_text("favourite = 4");
  ASSERT_EQ(config.notices.size(), 1U);
  EXPECT_EQ(config.notices[0].find("not settings, and read by nothing: favourite ("), 0U);
}

TEST(PythonReader, HelpersLiveAcrossFiles) {
  const TestFile first("tokens = 5000"), second("max_iters = tokens * 2");
  const LoadedConfig config = load(Command::kTrain, {first.path(), second.path()});
  EXPECT_EQ(config.values.max_iters, 10000);
  EXPECT_TRUE(config.notices.empty());
}

TEST(PythonReader, LiteralsOfTheCommandLine) {
  EXPECT_EQ(python_repr(*read_literal("-5")), "-5");
  EXPECT_EQ(python_repr(*read_literal(" 'a b'")), "'a b'");
  EXPECT_EQ(python_repr(*read_literal("True")), "True");
  EXPECT_EQ(python_repr(*read_literal("(1, 2)")), "(...)");
  for (const char* text :
       {"", " ", "abc", "5*8", "12GiB", "not True", "str(3)", "1 2", "'a", "x=3"}) {
    EXPECT_FALSE(read_literal(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace snug::config::python
