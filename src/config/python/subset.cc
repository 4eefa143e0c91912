#include "config/python/subset.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/python/builtins.h"

namespace snug::config::python {
namespace {

constexpr std::string_view kReadNotRun =
    "a config is read, never executed: keep to assignments such as batch_size = 12";

constexpr std::string_view kKeywords[] = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};

struct Advice {
  std::string_view word;
  std::string_view advice;
};

constexpr Advice kAdvice[] = {
    {"if", "write the choice as a value: key = a if condition else b"},
    {"elif", "write the choice as a value: key = a if condition else b"},
    {"else", "a choice needs all its parts: key = a if condition else b"},
    {"import", "only `import time` is read"},
    {"from", "only `import time` is read"},
    {"as", "only `import time` is read"},
    {"is", "compare with == or !="},
    {"in", "compare with == and or"},
    {"[", "subscripts are not read: write the value itself"},
    {"{", "dictionaries and sets are not read: give each setting its own line"},
    {":", "write key = value, without a type or a colon"},
    {":=", "write the assignment on a line of its own"},
};

}  // namespace

bool is_keyword(std::string_view word) {
  return std::find(std::begin(kKeywords), std::end(kKeywords), word) != std::end(kKeywords);
}

Fault outside_subset(std::string_view word) {
  const auto row = std::find_if(std::begin(kAdvice), std::end(kAdvice),
                                [&](const Advice& advice) { return advice.word == word; });
  return {fmt::format("`{}` is not read in a config", shortened(word, 40)),
          std::string(row == std::end(kAdvice) ? kReadNotRun : row->advice)};
}

Fault unknown_function(std::string_view name) {
  return {fmt::format("`{}(...)` is not called in a config", shortened(name, 40)),
          fmt::format("a config is read, never executed; known are {}", builtin_names())};
}

Fault attribute_access(std::string_view object) {
  const bool torch = object == "torch";
  return {fmt::format("`{}.` is not read in a config", shortened(object, 40)),
          torch ? "write the value itself; dtype = 'auto' and device = 'auto' let Snug choose"
                : "a config is read, never executed: write the value itself"};
}

}  // namespace snug::config::python
