#include "cli/doctor_options.h"

#include <fmt/format.h>

#include <string_view>

#include "base/error.h"

namespace snug {
namespace {

// The text behind "--name=", nothing when the argument is another one.
std::optional<std::string> value_of(const std::string& argument, std::string_view name) {
  const std::string option = fmt::format("--{}", name);
  if (argument != option && !argument.starts_with(fmt::format("{}=", option))) return std::nullopt;
  if (argument.size() <= option.size() + 1) {
    throw ConfigError(fmt::format("{0} needs a value\nwrite it as one word: {0}=VALUE", option));
  }
  return argument.substr(option.size() + 1);
}

bool is_older(const std::string& version) {
  if (version == "older" || version == "current") return version == "older";
  throw ConfigError(fmt::format(
      "--torch={} is not known\nit can be current (2.15, measured) or older (derived)", version));
}

}  // namespace

DoctorOptions doctor_options(const std::vector<std::string>& arguments) {
  DoctorOptions options;
  for (const std::string& argument : arguments) {
    if (argument == "-") {
      options.log = argument;
    } else if (argument == "--json") {
      options.json = true;
    } else if (argument == "--explain") {
      options.explain = true;
    } else if (auto log = value_of(argument, "log")) {
      options.log = log;
    } else if (auto write = value_of(argument, "write")) {
      options.write = write;
    } else if (auto html = value_of(argument, "html")) {
      options.html = html;
    } else if (auto lang = value_of(argument, "lang")) {
      options.lang = *lang;
    } else if (auto version = value_of(argument, "torch")) {
      options.older_pytorch = is_older(*version);
    } else {
      options.config.push_back(argument);
    }
  }
  return options;
}

}  // namespace snug
