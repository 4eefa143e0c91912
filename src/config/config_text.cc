// The config as text: for people, and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/config.h"
#include "config/diagnostic.h"
#include "config/fields.h"

namespace snug::config {
namespace {

constexpr std::size_t kMaxValueColumn = 24;  // longer values push their comment to the right

std::string comment_of(const LoadedConfig& config, const Field& field) {
  if (is_derived(config, field)) return "derived";
  const auto origin = config.origins.find(field.key);
  return origin == config.origins.end() ? "" : origin_name(origin->second);
}

std::string echo_line(const LoadedConfig& config, const Field& field, std::size_t key_width) {
  const std::string value = python_repr(field_value(config.values, field));
  const std::string comment = comment_of(config, field);
  if (comment.empty()) return fmt::format("{:<{}} = {}\n", field.key, key_width, value);
  return fmt::format("{:<{}} = {:<{}}  # {}\n", field.key, key_width, value, kMaxValueColumn,
                     comment);
}

std::size_t longest_key() {
  std::size_t width = 0;
  for (const Field& field : all_fields()) width = std::max(width, field.key.size());
  return width;
}

// Of JSON's values, Value lacks only objects, lists and integers that need 64 unsigned bits.
Value value_of(const nlohmann::json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_number_unsigned() && json.get<std::uint64_t>() >> 63 != 0) return PythonNone{};
  if (json.is_number()) return json.get<std::int64_t>();
  if (json.is_string()) return json.get<std::string>();
  return PythonNone{};
}

nlohmann::json parsed(const std::string& text) {
  auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) {
    throw ConfigError("the saved config is not a JSON object\nthe file it came from is damaged");
  }
  return json;
}

}  // namespace

std::string echo_config(const LoadedConfig& config) {
  const std::size_t key_width = longest_key();
  std::string text;
  const Field* last = nullptr;
  for (const Field& field : all_fields()) {
    if (field.is_ignored() && !config.is_set(field.key)) continue;
    if (!last || last->group != field.group) {
      text += fmt::format("{}# {}\n", last ? "\n" : "", group_title(field.group));
    }
    text += echo_line(config, field, key_width);
    last = &field;
  }
  return text;
}

std::string config_to_json(const Config& config) {
  nlohmann::ordered_json json;
  for (const Field& field : all_fields()) {
    std::visit([&](auto member) { json[std::string(field.key)] = config.*member; }, field.member);
  }
  return json.dump(2);
}

Config config_from_json(const std::string& text, std::vector<std::string>* notices) {
  Config config;
  const nlohmann::json json = parsed(text);
  for (const auto& [key, member] : json.items()) {
    const Field* field = find_field(key);
    if (!field) {
      if (notices) {
        notices->push_back(
            fmt::format("the saved config has an unknown key: {}", shortened(key, 40)));
      }
      continue;
    }
    try {
      assign_field(config, *field, value_of(member));
    } catch (const Fault& fault) {
      throw ConfigError(
          fmt::format("saved config: {}\nthe file it came from is damaged", fault.what));
    }
  }
  return config;
}

}  // namespace snug::config
