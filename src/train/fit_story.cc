#include "train/fit_story.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "config/fields.h"
#include "report/plan/fix_text.h"

namespace snug::train {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kLater = "at iteration ";

// In the order of FitOutcome::Kind.
constexpr std::string_view kOutcomes[] = {"fits_as_it_is", "nothing_fits", "changed",
                                          "changed_in_vain"};

struct FitRecord {
  std::int64_t iteration = 0;  // done when it was fitted
  bool resumed = false;        // the run went on from a checkpoint
  fit::FitOutcome outcome;
};

std::vector<std::string> keys_of(const std::vector<config::Change>& changes) {
  std::vector<std::string> keys;
  for (const config::Change& change : changes) keys.push_back(change.key);
  return keys;
}

Json record_json(const fit::FitOutcome& outcome, std::int64_t iteration, bool resumed) {
  Json record = {{"iteration", iteration},
                 {"resumed", resumed},
                 {"outcome", kOutcomes[static_cast<std::size_t>(outcome.kind)]},
                 {"usable_bytes", outcome.usable_bytes}};
  if (!outcome.has_changed()) return record;
  const fit::Fix& fix = outcome.fix;
  Json before = Json::parse(config::config_to_json(outcome.before));
  Json after = Json::parse(config::config_to_json(fix.config));
  for (const config::Field& field : config::all_fields()) {
    const std::string key(field.key);
    if (before.at(key) != after.at(key)) continue;
    before.erase(key);
    after.erase(key);
  }
  record.update({{"for_speed", outcome.for_speed},
                 {"kind", fit::name_of(fix.kind)},
                 {"effect", fit::name_of(fix.effect)},
                 {"set", keys_of(fix.changes)},
                 {"before", std::move(before)},
                 {"after", std::move(after)},
                 {"total_bytes", fix.total_bytes()},
                 {"saved_bytes", fix.saved_bytes},
                 {"time_ratio", fix.time_ratio}});
  return record;
}

template <typename Enum>
Enum named(const Json& name, int count) {
  for (int i = 0; i < count; ++i) {
    if (name_of(static_cast<Enum>(i)) == name.get<std::string>()) return static_cast<Enum>(i);
  }
  throw DataError(fmt::format("state.json: \"fits\" has an unknown {}", name.dump()));
}

fit::FitOutcome::Kind outcome_named(const Json& name) {
  for (std::size_t i = 0; i < std::size(kOutcomes); ++i) {
    if (name == kOutcomes[i]) return static_cast<fit::FitOutcome::Kind>(i);
  }
  throw DataError(fmt::format("state.json: \"fits\" has an unknown outcome {}", name.dump()));
}

config::Config with_values(Json config, const Json& values) {
  config.update(values);
  return config::config_from_json(config.dump());
}

// `config`: any of the run's, for what no fit changes.
FitRecord parse_record(const Json& json, const Json& config) {
  FitRecord record;
  record.iteration = json.at("iteration").get<std::int64_t>();
  record.resumed = json.at("resumed").get<bool>();
  fit::FitOutcome& outcome = record.outcome;
  outcome.kind = outcome_named(json.at("outcome"));
  outcome.usable_bytes = json.at("usable_bytes").get<std::int64_t>();
  if (!outcome.has_changed()) return record;
  outcome.for_speed = json.at("for_speed").get<bool>();
  outcome.before = with_values(config, json.at("before"));
  fit::Fix& fix = outcome.fix;
  fix.kind = named<fit::FixKind>(json.at("kind"), fit::kFixKindCount);
  fix.effect = named<fit::Effect>(json.at("effect"), fit::kEffectCount);
  fix.config = with_values(config, json.at("after"));
  for (const std::string& key : json.at("set").get<std::vector<std::string>>()) {
    const config::Field* const field = config::find_field(key);
    if (field == nullptr) continue;  // of another version
    fix.changes.push_back({std::string(field->key),
                           config::python_repr(config::field_value(outcome.before, *field)),
                           config::python_repr(config::field_value(fix.config, *field))});
  }
  fix.need.low_bytes = fix.need.high_bytes = json.at("total_bytes").get<std::int64_t>();
  fix.saved_bytes = json.at("saved_bytes").get<std::int64_t>();
  fix.time_ratio = json.at("time_ratio").get<double>();
  return record;
}

// Nothing for one that this version cannot tell: it only makes lines for people, and a newer Snug
// may know fixes that this one does not.
std::optional<FitRecord> told_record(const Json& json, const Json& config) {
  try {
    return parse_record(json, config);
  } catch (const Json::exception&) {
  } catch (const Error&) {
  }
  return std::nullopt;
}

std::vector<FitRecord> records_of(const checkpoint::TrainingState& state) {
  std::vector<FitRecord> records;
  const Json config = Json::parse(state.config_json);
  for (const Json& json : Json::parse(state.fits_json)) {
    if (auto record = told_record(json, config)) records.push_back(std::move(*record));
  }
  return records;
}

bool are_same(const fit::Fix& a, const fit::Fix& b) {
  return std::ranges::equal(a.changes, b.changes,
                            [](const config::Change& x, const config::Change& y) {
                              return x.key == y.key && x.before == y.before && x.after == y.after;
                            });
}

std::string later_line(std::int64_t iteration, const fit::FitOutcome& outcome) {
  return fmt::format("{}{}, {}", kLater, iteration, report::fit_changes_line(outcome));
}

// What an older Snug stored as texts: the lines of the first fit, then of each later one
// "at iteration 40, fit: batch_size 24 -> 8".
std::string_view changes_in_text(std::string_view line) {
  const std::size_t at = line.find("fit: ");
  return at == std::string_view::npos ? line : line.substr(at);
}

// Did the last fit change the same in the same way?
bool is_known(const checkpoint::TrainingState& state, const fit::FitOutcome& outcome) {
  const std::vector<FitRecord> records = records_of(state);
  if (!records.empty()) {
    const fit::FitOutcome& last = records.back().outcome;
    return last.has_changed() && last.for_speed == outcome.for_speed &&
           are_same(last.fix, outcome.fix);
  }
  return !state.fit_texts.empty() &&
         changes_in_text(state.fit_texts.back()) == report::fit_changes_line(outcome);
}

}  // namespace

void remember_fit(checkpoint::TrainingState& state, const fit::FitOutcome& outcome, bool resumed) {
  if (resumed && (!outcome.has_changed() || is_known(state, outcome))) return;
  Json fits = resumed ? Json::parse(state.fits_json) : Json::array();
  fits.push_back(record_json(outcome, state.iteration, resumed));
  state.fits_json = fits.dump();
}

std::vector<std::string> fit_story(const checkpoint::TrainingState& state) {
  constexpr std::string_view kAtStart = "when this run started, ";
  std::vector<std::string> lines;
  for (const std::string& text : state.fit_texts) {
    lines.push_back(fmt::format("{}{}", text.starts_with(kLater) ? "" : kAtStart, text));
  }
  for (const FitRecord& record : records_of(state)) {
    if (record.resumed) {
      lines.push_back(later_line(record.iteration, record.outcome));
      continue;
    }
    for (const std::string& line : report::fit_lines(record.outcome, false)) {
      lines.push_back(fmt::format("{}{}", kAtStart, line));
    }
  }
  return lines;
}

}  // namespace snug::train
