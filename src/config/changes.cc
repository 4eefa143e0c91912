// The difference of two configs, as settings.
#include "base/error.h"
#include "config/config.h"
#include "config/fields.h"

namespace snug::config {
namespace {

std::string repr(const Config& config, const Field& field) {
  return python_repr(field_value(config, field));
}

// The keys in which `config`, with the changes made to it and resolved, still differs from `after`.
std::vector<const Field*> missing(LoadedConfig config, const std::vector<const Field*>& changed,
                                  const Config& after) {
  for (const Field* field : changed) {
    assign_field(config.values, *field, field_value(after, *field));
  }
  resolve(config);
  std::vector<const Field*> fields;
  for (const Field& field : all_fields()) {
    if (repr(config.values, field) != repr(after, field)) fields.push_back(&field);
  }
  return fields;
}

bool is_enough(const LoadedConfig& config, const std::vector<const Field*>& changed,
               const Config& after) {
  try {
    return missing(config, changed, after).empty();
  } catch (const ConfigError&) {  // the other keys contradict each other without the one left out
    return false;
  }
}

}  // namespace

std::vector<Change> changes_to(const LoadedConfig& config, const Config& after) {
  std::vector<const Field*> changed;
  for (const Field& field : all_fields()) {
    if (is_derived(config, field)) continue;
    if (repr(config.values, field) != repr(after, field)) changed.push_back(&field);
  }
  for (const Field* field : missing(config, changed, after)) changed.push_back(field);
  for (std::size_t i = changed.size(); i-- > 0;) {
    std::vector<const Field*> fewer;
    for (const Field* field : changed) {
      if (field != changed[i]) fewer.push_back(field);
    }
    if (is_enough(config, fewer, after)) changed = std::move(fewer);
  }
  std::vector<Change> changes;
  for (const Field* field : changed) {
    changes.push_back({std::string(field->key), repr(config.values, *field), repr(after, *field)});
  }
  return changes;
}

}  // namespace snug::config
