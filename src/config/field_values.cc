// Values in and out of Config by field: the type rules and the ranges.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "config/diagnostic.h"
#include "config/fields.h"

namespace snug::config {
namespace {

constexpr double kExactWhole = 9007199254740992.0;  // 2^53: above it doubles skip whole numbers
constexpr std::size_t kShownColumns = 48;

std::optional<bool> to_bool(const Value& value) {
  if (const auto* b = std::get_if<bool>(&value)) return *b;
  const auto* i = std::get_if<std::int64_t>(&value);
  if (i && (*i == 0 || *i == 1)) return *i == 1;
  return std::nullopt;
}

std::optional<std::int64_t> to_whole(const Value& value) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) return *i;
  const auto* d = std::get_if<double>(&value);
  if (d && std::fabs(*d) <= kExactWhole && std::floor(*d) == *d) {
    return static_cast<std::int64_t>(*d);
  }
  return std::nullopt;
}

std::optional<double> to_real(const Value& value) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) return static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&value)) return *d;
  return std::nullopt;
}

Fault wrong_type(const Field& field, const Value& value) {
  static const Config defaults;
  return {fmt::format("{} = {} is not {}", field.key, shortened(python_repr(value), kShownColumns),
                      wanted_type(field)),
          field.is_bool() ? "write True or False"
                          : fmt::format("write {}, such as {}", wanted_type(field),
                                        python_repr(field_value(defaults, field)))};
}

struct Assign {
  Config& config;
  const Field& field;
  const Value& value;

  template <typename T>
  void store(T Config::*member, const std::optional<T>& converted) const {
    if (!converted) throw wrong_type(field, value);
    config.*member = *converted;
  }
  void operator()(bool Config::*member) const { store(member, to_bool(value)); }
  void operator()(std::int64_t Config::*member) const { store(member, to_whole(value)); }
  void operator()(double Config::*member) const { store(member, to_real(value)); }
  void operator()(std::string Config::*member) const {
    const auto* text = std::get_if<std::string>(&value);
    if (!text) throw wrong_type(field, value);
    config.*member = *text;
  }
};

Fault out_of_range(const Field& field, const Value& value, const std::string& advice) {
  return {fmt::format("{} = {} is not allowed", field.key,
                      shortened(python_repr(value), kShownColumns)),
          advice};
}

}  // namespace

std::string_view wanted_type(const Field& field) {
  constexpr std::string_view kNames[] = {"True or False", "a whole number", "a number", "a string"};
  return kNames[field.member.index()];
}

Value field_value(const Config& config, const Field& field) {
  return std::visit([&](auto member) { return Value(config.*member); }, field.member);
}

void assign_field(Config& config, const Field& field, const Value& value) {
  std::visit(Assign{config, field, value}, field.member);
}

void check_range(const Config& config, const Field& field) {
  const Value value = field_value(config, field);
  if (const auto* text = std::get_if<std::string>(&value)) {
    const std::string advice = field.limit.check ? field.limit.check(*text) : "";
    if (!advice.empty()) throw out_of_range(field, value, advice);
    return;
  }
  const auto number = to_real(value);
  if (number && !field.limit.allows(*number)) {
    throw out_of_range(field, value,
                       fmt::format("{} takes {}", field.key, limit_text(field.limit)));
  }
}

bool is_derived(const LoadedConfig& config, const Field& field) {
  const auto given = config.derived.find(field.key);
  return given != config.derived.end() &&
         given->second == python_repr(field_value(config.values, field));
}

void set_derived(LoadedConfig& config, const Field& field, const Value& value) {
  assign_field(config.values, field, value);
  config.derived[std::string(field.key)] = python_repr(value);
}

}  // namespace snug::config
