#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "config/nearest.h"

namespace snug::cli {
namespace {

template <typename Number>
std::optional<Number> parsed(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string list_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

OptionReader::OptionReader(std::string command, Arguments arguments)
    : command_(std::move(command)), arguments_(arguments.begin(), arguments.end()) {}

void OptionReader::fail(const std::string& what) const {
  throw ConfigError(fmt::format("{}\n`snug {} --help` shows the options", what,
                                command_.substr(0, command_.find(' '))));
}

std::vector<std::string> OptionReader::take_values(const std::string& name) {
  const std::string prefix = "--" + name + "=";
  known_.push_back(prefix);
  std::vector<std::string> values;
  std::erase_if(arguments_, [&](const std::string& argument) {
    if (!argument.starts_with(prefix)) return false;
    if (argument.size() == prefix.size()) fail(fmt::format("--{}= is without a value", name));
    values.push_back(argument.substr(prefix.size()));
    return true;
  });
  return values;
}

std::optional<std::string> OptionReader::value(const std::string& name) {
  const std::vector<std::string> values = take_values(name);
  return values.empty() ? std::nullopt : std::optional(values.back());
}

bool OptionReader::flag(const std::string& name) {
  known_.push_back("--" + name);
  return std::erase(arguments_, "--" + name) > 0;
}

std::optional<std::size_t> OptionReader::choice(const std::string& name,
                                                const std::vector<std::string>& words) {
  std::optional<std::size_t> chosen;
  for (const std::string& text : take_values(name)) {
    const auto at = std::find(words.begin(), words.end(), text);
    if (at == words.end()) fail(fmt::format("--{}={} is none of {}", name, text, list_of(words)));
    chosen = static_cast<std::size_t>(at - words.begin());
  }
  return chosen;
}

std::optional<std::int64_t> OptionReader::number(const std::string& name, std::int64_t minimum) {
  std::optional<std::int64_t> number;
  for (const std::string& text : take_values(name)) {
    number = parsed<std::int64_t>(text);
    if (!number || *number < minimum) {
      fail(fmt::format("--{}={} is not a whole number of {} or more", name, text, minimum));
    }
  }
  return number;
}

std::optional<double> OptionReader::share(const std::string& name) {
  std::optional<double> share;
  for (const std::string& text : take_values(name)) {
    const bool percent = text.ends_with('%');
    const auto number = parsed<double>(text.substr(0, text.size() - (percent ? 1 : 0)));
    share = number.value_or(-1) / (percent ? 100.0 : 1.0);
    if (!(*share > 0 && *share < 1)) {
      fail(
          fmt::format("--{}={} is not a share between 0 and 1, such as 0.0005 or 10%", name, text));
    }
  }
  return share;
}

std::vector<std::string> OptionReader::names() {
  for (const std::string& argument : arguments_) {
    if (argument == "-" || !argument.starts_with("-")) continue;
    const std::string name = argument.substr(0, argument.find('='));
    const std::string meant = config::nearest_word(name, known_, config::suggestion_reach(name));
    fail(fmt::format("{} does not know '{}'{}", command_, argument,
                     meant.empty() ? "" : fmt::format("; did you mean {}?", meant)));
  }
  return arguments_;
}

}  // namespace snug::cli
