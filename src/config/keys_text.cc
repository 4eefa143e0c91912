// The texts that list the keys: the section of --help, docs/keys.md, completion.
#include <fmt/format.h>

#include <algorithm>

#include "config/config.h"
#include "config/diagnostic.h"
#include "config/fields.h"

namespace snug::config {
namespace {

constexpr std::size_t kMinColumns = 40;
constexpr std::size_t kWideColumns = 72;  // from here on, key and help stand side by side
constexpr std::size_t kNarrowIndent = 6;
constexpr std::size_t kUnbroken = 24;

constexpr Command kCommands[] = {Command::kTrain, Command::kPlan, Command::kSample};

std::string_view command_name(Command command) {
  constexpr std::string_view kNames[] = {"train", "plan", "sample"};
  return kNames[static_cast<std::size_t>(command)];
}

// As it is typed on the command line: quotes only where they are needed.
std::string default_text(const Field& field, Command command) {
  const Value value = field_value(default_config(command), field);
  const auto* text = std::get_if<std::string>(&value);
  const bool plain =
      text && !text->empty() && text->find_first_of(" \t\r\n'\"\\") == std::string::npos;
  return plain ? *text : python_repr(value);
}

std::string setting_text(const Field& field, Command command) {
  return fmt::format("--{}={}", field.key, default_text(field, command));
}

std::string help_text(const Field& field) {
  const std::string limit = limit_text(field.limit);
  return limit.empty() ? std::string(field.help) : fmt::format("{} ({})", field.help, limit);
}

// Where the first word ends. A short remark in parentheses is not broken.
std::size_t word_end(std::string_view text) {
  const std::size_t close = text.find(')');
  if (text.starts_with('(') && close < kUnbroken) return close + 1;
  return std::min(text.find(' '), text.size());
}

// Lines of at most `columns`, the first one continuing a line that is at `indent` already.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns) {
  std::string result;
  std::size_t at = indent;
  while (!text.empty()) {
    const std::size_t space = word_end(text);
    const std::string_view word = text.substr(0, space);
    const bool first = at == indent;
    if (!first && at + 1 + column_count(word) > columns) {
      result += "\n" + std::string(indent, ' ');
      at = indent;
    } else if (!first) {
      result += ' ';
      ++at;
    }
    result += word;
    at += column_count(word);
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return result + "\n";
}

std::string help_row(const Field& field, Command command, std::size_t left, std::size_t columns) {
  const std::string setting = setting_text(field, command);
  if (columns < kWideColumns) {
    return fmt::format("  {}\n{:{}}{}", setting, "", kNarrowIndent,
                       wrapped(help_text(field), kNarrowIndent, columns));
  }
  return fmt::format("  {:<{}}{}", setting, left - 2, wrapped(help_text(field), left, columns));
}

bool is_used(const Field& field, Command command) {
  return (field.commands & command_bit(command)) != 0;
}

std::string ignored_paragraph(std::size_t columns) {
  std::string keys;
  for (const Field& field : all_fields()) {
    if (field.is_ignored()) keys += fmt::format("{}{}", keys.empty() ? "" : ", ", field.key);
  }
  return fmt::format("\n{}\n  {}", group_title(Group::kIgnored), wrapped(keys, 2, columns));
}

std::string used_by(const Field& field) {
  std::string names;
  for (const Command command : kCommands) {
    if (!is_used(field, command)) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", command_name(command));
  }
  return names.empty() ? "–" : names;
}

std::string markdown_default(const Field& field) {
  const std::string usual = default_text(field, Command::kTrain);
  const std::string sample = default_text(field, Command::kSample);
  if (usual == sample) return fmt::format("`{}`", usual);
  return fmt::format("`{}`; sample: `{}`", usual, sample);
}

std::string markdown_row(const Field& field) {
  return fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", field.key, markdown_default(field),
                     field.is_bool() ? std::string(wanted_type(field)) : limit_text(field.limit),
                     field.help, used_by(field),
                     field.source == KeySource::kNanoGpt ? "nanoGPT" : "Snug");
}

}  // namespace

std::string keys_help(Command command, int columns) {
  const auto width = static_cast<std::size_t>(std::max(columns, static_cast<int>(kMinColumns)));
  std::size_t left = 0;
  for (const Field& field : all_fields()) {
    if (is_used(field, command)) left = std::max(left, setting_text(field, command).size() + 4);
  }
  std::string text;
  const Field* last = nullptr;
  for (const Field& field : all_fields()) {
    if (!is_used(field, command)) continue;
    if (!last || last->group != field.group) {
      text += fmt::format("{}{}\n", last ? "\n" : "", group_title(field.group));
    }
    text += help_row(field, command, left, width);
    last = &field;
  }
  return text + ignored_paragraph(width);
}

std::string keys_markdown() {
  std::string text =
      "# Settings\n\n"
      "Generated from `src/config/fields.cc`. Write them in a config file as `key = value`, or on\n"
      "the command line as `--key=value`; what comes later wins. Every command accepts every "
      "key.\n";
  const Field* last = nullptr;
  for (const Field& field : all_fields()) {
    if (!last || last->group != field.group) {
      text += fmt::format(
          "\n## {}\n\n| key | default | range | meaning | used by | from |\n"
          "|---|---|---|---|---|---|\n",
          group_title(field.group));
    }
    text += markdown_row(field);
    last = &field;
  }
  return text;
}

std::vector<std::string> all_keys() {
  std::vector<std::string> keys;
  for (const Field& field : all_fields()) keys.emplace_back(field.key);
  return keys;
}

}  // namespace snug::config
