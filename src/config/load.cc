// From arguments to a checked config.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/config.h"
#include "config/diagnostic.h"
#include "config/fields.h"
#include "config/nearest.h"
#include "config/python/reader.h"
#include "config/source_file.h"

namespace snug::config {
namespace {

constexpr std::string_view kDashes = "--";

Origin argument_origin(const std::string& argument, std::size_t begin, std::size_t end) {
  Origin origin;
  origin.kind = Origin::Kind::kCommandLine;
  origin.text = argument;
  origin.column = static_cast<int>(begin);
  origin.width = std::max(1, static_cast<int>(end) - static_cast<int>(begin));
  return origin;
}

[[noreturn]] void fail_argument(const std::string& argument, const Fault& fault) {
  throw_at(argument_origin(argument, 0, argument.size()), fault);
}

// `rest` is the part from the '=' on, or empty.
[[noreturn]] void fail_unknown(const std::string& argument, const std::string& key,
                               const std::string& rest) {
  const std::string near = nearest_word(key, all_keys(), suggestion_reach(key));
  const std::size_t begin = argument.find(key);
  throw_at(argument_origin(argument, begin, begin + key.size()),
           {key.empty() ? "no setting is named"
                        : fmt::format("there is no setting `{}`", shortened(key, 40)),
            near.empty()
                ? "--help lists all settings"
                : fmt::format("did you mean --{}{}?", near, shortened(rest, kArgumentColumns))});
}

// The literal if it is one; a string field takes any other text as it is, too.
Value argument_value(const Field& field, const std::string& text) {
  const auto literal = python::read_literal(text);
  if (literal && (!field.is_string() || std::holds_alternative<std::string>(*literal))) {
    return *literal;
  }
  const bool digits = !text.empty() && text.find_first_not_of("0123456789_") == text.npos;
  if (!field.is_string() && digits) {
    throw Fault{fmt::format("{} = {} does not fit 64 bits", field.key, shortened(text, 40)),
                fmt::format("{} takes {}", field.key, limit_text(field.limit))};
  }
  return text;
}

void read_setting(LoadedConfig& config, const std::string& argument, std::size_t equals) {
  const std::string key = argument.substr(kDashes.size(), equals - kDashes.size());
  const std::string text = argument.substr(equals + 1);
  const Field* field = find_field(key);
  if (!field) fail_unknown(argument, key, argument.substr(equals));
  Origin origin = argument_origin(argument, equals + 1, argument.size());
  try {
    assign_field(config.values, *field, argument_value(*field, text));
  } catch (const Fault& fault) {
    throw_at(origin, fault);
  }
  config.origins[key] = std::move(origin);
}

// `--fit` alone means `--fit=True`.
bool is_bare_flag(std::span<const std::string> arguments, std::size_t at) {
  const std::string& argument = arguments[at];
  if (!argument.starts_with(kDashes) || argument.find('=') != argument.npos) return false;
  const Field* field = find_field(argument.substr(kDashes.size()));
  if (!field || !field->is_bool()) return false;
  return at + 1 == arguments.size() || !python::read_literal(arguments[at + 1]);
}

// An argument with one dash, without dashes, or without '='.
[[noreturn]] void fail_form(std::span<const std::string> arguments, std::size_t at) {
  const std::string& argument = arguments[at];
  const std::size_t dashes = std::min(argument.find_first_not_of('-'), argument.size());
  const std::size_t equals = std::min(argument.find('='), argument.size());
  const std::string key =
      argument.substr(std::min(dashes, equals), equals - std::min(dashes, equals));
  const std::string rest = argument.substr(equals);
  const Field* field = find_field(key);
  if (!field) fail_unknown(argument, key, rest);
  if (!rest.empty()) {
    fail_argument(argument,
                  {"a setting starts with two dashes",
                   fmt::format("write {}{}{}", kDashes, key, shortened(rest, kArgumentColumns))});
  }
  const bool next_is_value = at + 1 < arguments.size() && !arguments[at + 1].starts_with('-');
  const std::string value = next_is_value ? arguments[at + 1] : field->is_bool() ? "True" : "VALUE";
  fail_argument(argument, {fmt::format("{} has no value", key),
                           fmt::format("write it as one word: {}{}={}", kDashes, key,
                                       shortened(value, kArgumentColumns))});
}

void read_argument(LoadedConfig& config, python::PythonReader& reader,
                   std::span<const std::string> arguments, std::size_t at) {
  const std::string& argument = arguments[at];
  if (argument.empty()) {
    throw ConfigError(
        "command line: an argument is empty\nname a config file, or write --key=value");
  }
  if (!is_utf8(argument)) {
    throw ConfigError(
        fmt::format("command line: argument {} is not UTF-8 text\nname files and "
                    "settings in UTF-8",
                    at + 1));
  }
  const std::size_t equals = argument.find('=');
  if (argument.starts_with(kDashes) && equals != argument.npos) {
    read_setting(config, argument, equals);
  } else if (is_bare_flag(arguments, at)) {
    read_setting(config, argument + "=True", argument.size());
  } else if (argument.starts_with('-') || equals != argument.npos) {
    fail_form(arguments, at);
  } else {
    reader.read(read_config_file(argument));
  }
}

void note_ignored(LoadedConfig& config) {
  std::vector<std::string_view> set;
  for (const Field& field : all_fields()) {
    if (field.is_ignored() && config.is_set(field.key)) set.push_back(field.key);
  }
  if (set.empty()) return;
  config.notices.push_back(fmt::format("ignored here: {}", fmt::join(set, ", ")));
}

}  // namespace

Config default_config(Command command) {
  Config config;
  if (command == Command::kSample) config.init_from = "resume";
  return config;
}

LoadedConfig read_config(Command command, std::span<const std::string> arguments) {
  LoadedConfig config;
  config.command = command;
  config.values = default_config(command);
  python::PythonReader reader(config);
  for (std::size_t at = 0; at < arguments.size(); ++at)
    read_argument(config, reader, arguments, at);
  reader.finish();
  note_ignored(config);
  return config;
}

LoadedConfig load_config(Command command, std::span<const std::string> arguments) {
  LoadedConfig config = read_config(command, arguments);
  resolve(config);
  return config;
}

}  // namespace snug::config
