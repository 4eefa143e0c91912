#include "cli/doctor_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "base/error.h"
#include "report/catalogue/snapshot_texts.h"

namespace snug::cli {
namespace {

// The text after "--name=", nothing when the argument is another one.
std::optional<std::string> value_of(const std::string& argument, std::string_view name,
                                    report::Language language) {
  const std::string option = fmt::format("--{}", name);
  if (argument != option && !argument.starts_with(fmt::format("{}=", option))) return std::nullopt;
  if (argument.size() <= option.size() + 1) {
    throw ConfigError(report::text_in(language, report::TextId::kErrorOptionNeedsValue, {option}));
  }
  return argument.substr(option.size() + 1);
}

// The last --lang, before anything else is said.
report::Language language_among(const std::vector<std::string>& arguments, const char* locale) {
  std::string option;
  for (const std::string& argument : arguments) {
    if (const auto lang = value_of(argument, "lang", report::language_of("", locale)))
      option = *lang;
  }
  return report::language_of(option, locale);
}

// A file's name alone, with an ending that configs do not have.
bool is_file_with(const std::string& argument, std::initializer_list<std::string_view> endings) {
  return !argument.starts_with("--") && std::ranges::any_of(endings, [&](std::string_view end) {
    return argument.ends_with(end);
  });
}

bool is_older(const std::string& version, report::Language language) {
  if (version == "older" || version == "current") return version == "older";
  throw ConfigError(report::text_in(language, report::TextId::kErrorUnknownTorch, {version}));
}

}  // namespace

std::vector<std::string> with_file_options(std::vector<std::string> arguments) {
  for (std::string& argument : arguments) {
    if (is_file_with(argument, {".log", ".txt", ".out", ".err"})) {
      argument.insert(0, "--log=");
    } else if (is_file_with(argument, {".pickle", ".pkl"})) {
      argument.insert(0, "--snapshot=");
    }
  }
  return arguments;
}

DoctorOptions doctor_options(const std::vector<std::string>& arguments, const char* locale) {
  DoctorOptions options;
  options.language = language_among(arguments, locale);
  for (const std::string& argument : arguments) {
    const auto value = [&](std::string_view name) {
      return value_of(argument, name, options.language);
    };
    if (argument == "-") {
      options.log = argument;
    } else if (argument == "--json") {
      options.json = true;
    } else if (argument == "--explain") {
      options.explain = true;
    } else if (auto log = value("log")) {
      options.log = log;
    } else if (auto snapshot = value("snapshot")) {
      options.snapshot = snapshot;
    } else if (auto write = value("write")) {
      options.write = write;
    } else if (auto html = value("html")) {
      options.html = html;
    } else if (auto version = value("torch")) {
      options.older_pytorch = is_older(*version, options.language);
    } else if (!value("lang")) {
      options.config.push_back(argument);
    }
  }
  if (options.snapshot && options.log) {
    throw ConfigError(report::text_in(options.language, report::SnapshotTextId::kErrorWithLog));
  }
  if (options.config.empty() && !options.log && !options.snapshot) {
    throw ConfigError(report::text_in(options.language, report::TextId::kErrorNothingToDo));
  }
  return options;
}

}  // namespace snug::cli
