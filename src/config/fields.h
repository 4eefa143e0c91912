// The field table: one row per key, with its member of Config, its group, range and help line.
// Everything else that knows keys (files, arguments, help, echo, JSON, docs) iterates over it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "config/config.h"
#include "config/field_limits.h"
#include "config/value.h"

namespace snug::config {

enum class Group { kModel, kData, kLearning, kEvaluation, kMemory, kMachine, kSampling, kIgnored };
enum class KeySource { kNanoGpt, kSnug };

// Bits of Field::commands.
constexpr unsigned command_bit(Command command) { return 1U << static_cast<unsigned>(command); }

struct Field {
  using Member =
      std::variant<bool Config::*, std::int64_t Config::*, double Config::*, std::string Config::*>;
  std::string_view key;
  Member member;
  Group group;
  unsigned commands;  // those that use it; every command accepts every key
  KeySource source;
  Limit limit;
  std::string_view help;

  // Accepted because nanoGPT has it, without effect.
  bool is_ignored() const { return group == Group::kIgnored; }
  bool is_string() const { return std::holds_alternative<std::string Config::*>(member); }
  bool is_bool() const { return std::holds_alternative<bool Config::*>(member); }
  bool is_whole() const { return std::holds_alternative<std::int64_t Config::*>(member); }
};

// In the order of help and docs; rows of a group stand together.
std::span<const Field> all_fields();

// Null when there is no such key.
const Field* find_field(std::string_view key);

const Field& field_of(Field::Member member);

std::string_view group_title(Group group);

// What a value of this field is called: "a whole number", "True or False", ...
std::string_view wanted_type(const Field& field);

Value field_value(const Config& config, const Field& field);

// Converts by the type rules: whole numbers for floats, whole floats for ints, 0 and 1 for bools.
// Throws Fault when the type is wrong; check_range checks ranges.
void assign_field(Config& config, const Field& field, const Value& value);

// Throws Fault when the value lies outside the field's limit.
void check_range(const Config& config, const Field& field);

// True while the field still has the value that resolve() gave it.
bool is_derived(const LoadedConfig& config, const Field& field);
void set_derived(LoadedConfig& config, const Field& field, const Value& value);

}  // namespace snug::config
