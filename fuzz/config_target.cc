#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/diagnostic.h"
#include "config/fields.h"
#include "config/python/reader.h"
#include "config/rewrite/rewrite.h"
#include "config/source_file.h"
#include "fuzz_targets.h"

namespace snug {
namespace {

// One value of each type, with a string that needs escapes.
const std::vector<config::Change> kChanges = {{"batch_size", "12", "3"},
                                              {"gradient_accumulation_steps", "40", "160"},
                                              {"dropout", "0.0", "0.25"},
                                              {"compile", "True", "False"},
                                              {"out_dir", "'out'", "'a\\'b\\n\\\\'"}};

bool is_same(const config::Config& a, const config::Config& b) {
  const auto fields = config::all_fields();
  return std::all_of(fields.begin(), fields.end(), [&](const config::Field& field) {
    return config::python_repr(config::field_value(a, field)) ==
           config::python_repr(config::field_value(b, field));
  });
}

config::LoadedConfig read_text(const std::string& text) {
  config::LoadedConfig config;
  config::python::PythonReader reader(config);
  reader.read(config::SourceFile("fuzz.py", text));
  reader.finish();
  return config;
}

// What is resolved can be echoed and saved, and reads back to the same values.
void check_echo(config::LoadedConfig config) {
  config::resolve(config);
  try {
    const config::Config echoed = read_text(config::echo_config(config)).values;
    require(is_same(echoed, config.values), "the echo is a config of the same values");
    const config::Config saved = config::config_from_json(config::config_to_json(config.values));
    require(is_same(saved, config.values), "JSON keeps all values");
  } catch (const ConfigError& error) {
    require(false, error.what());
  }
}

void check_reading(const std::string& text) {
  const config::LoadedConfig config = read_text(text);
  try {
    check_echo(config);
  } catch (const ConfigError&) {
    // Out of some key's range: it can be rewritten all the same.
  }
}

void check_rewriting(const std::string& text) {
  std::vector<config::Change> changes;
  for (std::size_t i = 0; i < kChanges.size(); ++i) {
    if ((text.size() >> i & 1U) != 0) changes.push_back(kChanges[i]);
  }
  const std::string once =
      config::rewrite::rewrite_config("fuzz.py", text, changes, "so that it fits").text;
  const std::string twice =
      config::rewrite::rewrite_config("fuzz.py", once, changes, "so that it fits").text;
  require(once == twice, "rewriting again changes nothing");
}

void fuzz_file(const std::string& text) {
  if (!config::is_utf8(text) || text.find('\0') != text.npos) return;
  // Other line ends are normalised where files are read.
  const bool is_normal = text.find('\r') == text.npos && !text.starts_with("\xEF\xBB\xBF");
  if (is_normal) check_reading(text);
  check_rewriting(text);
}

void fuzz_arguments(std::string_view text) {
  std::vector<std::string> arguments;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    // Others name files.
    if (text.starts_with("--")) arguments.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  check_echo(config::read_config(config::Command::kTrain, arguments));
}

}  // namespace

void fuzz_config(std::string_view bytes) try {
  if (bytes.starts_with("--")) {
    fuzz_arguments(bytes);
  } else {
    fuzz_file(std::string(bytes));
  }
} catch (const ConfigError&) {
}

}  // namespace snug
