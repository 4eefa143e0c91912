#include "checkpoint/manifest.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

namespace snug::checkpoint {
namespace {

using Json = nlohmann::json;  // keys sorted: one document has one text, which the checksum needs

constexpr const char* kFormatName = "snug-checkpoint";
constexpr int kMaxDepth = 64;  // of nested values: writing JSON back recurses
constexpr std::int64_t kMaxCount = std::int64_t{1} << 53;  // exact in every JSON reader

std::uint64_t checksum_of(const Json& document) {
  Checksum checksum;
  checksum.update(document.dump());
  return checksum.value();
}

Json digest_json(const FileDigest& digest) {
  return {{"bytes", digest.byte_count}, {"xxh3_64", to_hex(digest.checksum)}};
}

Json labels_json(const std::vector<TensorLabel>& labels) {
  Json list = Json::array();
  for (const TensorLabel& label : labels) {
    Json shape = Json::array();
    for (int axis = 0; axis < label.shape.rank(); ++axis) shape.push_back(label.shape[axis]);
    list.push_back({{"name", label.name}, {"dtype", label.dtype}, {"shape", std::move(shape)}});
  }
  return list;
}

// One object of the document, whose fields are asked for by name and checked on the way out.
class Fields {
 public:
  Fields(const Json& object, const Path& file) : object_(object), file_(file) {
    if (!object.is_object()) fail("holds something else where an object belongs");
  }

  const Json& at(const char* key) const {
    const auto field = object_.find(key);
    if (field == object_.end()) fail(fmt::format("has no \"{}\"", key));
    return *field;
  }
  bool has(const char* key) const { return object_.contains(key); }
  Fields object(const char* key) const { return {at(key), file_}; }
  const Json& list(const char* key) const {
    if (!at(key).is_array()) fail(fmt::format("\"{}\" is not a list", key));
    return at(key);
  }
  std::string text(const char* key) const { return text(at(key), key); }
  std::string text(const Json& value, const char* key) const {
    if (!value.is_string()) fail(fmt::format("\"{}\" is not text", key));
    return value.get<std::string>();
  }
  std::uint64_t natural(const Json& value, const char* key) const {
    if (!value.is_number_unsigned()) fail(fmt::format("\"{}\" is not a whole number >= 0", key));
    return value.get<std::uint64_t>();
  }
  std::int64_t count(const char* key) const { return count(at(key), key); }
  std::int64_t count(const Json& value, const char* key) const {
    const std::uint64_t number = natural(value, key);
    if (number > std::uint64_t{kMaxCount}) fail(fmt::format("\"{}\" is beyond all bounds", key));
    return static_cast<std::int64_t>(number);
  }
  std::uint64_t checksum(const char* key) const {
    const auto value = parse_hex(text(key));
    if (!value) fail(fmt::format("\"{}\" is not 16 hexadecimal digits", key));
    return *value;
  }
  FileDigest digest(const char* key) const {
    const Fields fields = object(key);
    return {fields.count("bytes"), fields.checksum("xxh3_64")};
  }
  std::vector<TensorLabel> labels(const char* key) const;

  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(fmt::format("{}: {}", file_.string(), what));
  }

 private:
  const Json& object_;
  const Path& file_;
};

std::vector<TensorLabel> Fields::labels(const char* key) const {
  std::vector<TensorLabel> labels;
  std::unordered_set<std::string> names;
  for (const Json& item : list(key)) {
    const Fields fields(item, file_);
    TensorLabel label{.name = fields.text("name"), .dtype = fields.text("dtype"), .shape = {}};
    const std::string shown = printable(label.name);
    if (!names.insert(label.name).second) fail(fmt::format("lists tensor {} twice", shown));
    if (!element_bytes(label.dtype)) fail(fmt::format("tensor {} has an unknown dtype", shown));
    std::vector<std::int64_t> dims;
    for (const Json& dim : fields.list("shape")) dims.push_back(count(dim, "shape"));
    const auto shape = shape_of(dims);
    if (!shape) fail(fmt::format("tensor {} has too many dimensions", shown));
    label.shape = *shape;
    labels.push_back(std::move(label));
  }
  return labels;
}

Json parse_document(std::string_view text, const Path& file) {
  if (std::ssize(text) > kManifestMaxBytes) {
    throw DataError(fmt::format("{}: longer than {} bytes", file.string(), kManifestMaxBytes));
  }
  const auto limit_depth = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxDepth) throw DataError(fmt::format("{}: nested too deep", file.string()));
    return true;
  };
  try {
    return Json::parse(text, limit_depth);
  } catch (const Json::parse_error& error) {
    throw DataError(fmt::format("{}: not JSON at byte {}", file.string(), error.byte));
  } catch (const Json::exception&) {  // a number too large for any type
    throw DataError(fmt::format("{}: not readable as JSON", file.string()));
  }
}

// The version comes first: of another one nothing else may be assumed.
void require_our_document(Json& document, const Path& file) {
  const Fields fields(document, file);
  if (fields.text("format") != kFormatName) fields.fail("is not the state of a Snug checkpoint");
  if (const auto version = fields.count("version"); version != kManifestVersion) {
    fields.fail(fmt::format("has format version {}\nthis Snug reads version {}; use a newer one",
                            version, kManifestVersion));
  }
  const std::uint64_t wanted = fields.checksum("checksum");
  document.erase("checksum");
  if (const std::uint64_t found = checksum_of(document); found != wanted) {
    fields.fail(
        fmt::format("the content has changed since it was saved\n"
                    "wanted checksum {}, found {}",
                    to_hex(wanted), to_hex(found)));
  }
}

TrainingState parse_state(const Fields& fields) {
  TrainingState state;
  state.iteration = fields.count("iteration");
  const Json& loss = fields.at("best_val_loss");
  if (!loss.is_null() && !loss.is_number()) fields.fail("\"best_val_loss\" is not a number");
  if (loss.is_number()) state.best_val_loss = loss.get<double>();
  state.seed = fields.natural(fields.at("seed"), "seed");
  state.sequences_drawn = fields.count("sequences_drawn");
  if (fields.has("loss_scale")) {  // an older Snug had no float16
    const Fields scale = fields.object("loss_scale");
    const Json& factor = scale.at("factor");
    if (!factor.is_number() || !(factor.get<double>() > 0)) {
      fields.fail("the factor of \"loss_scale\" is not a number above 0");
    }
    state.loss_scale = {factor.get<double>(), scale.count("good_updates"),
                        scale.count("skipped_updates")};
  }
  if (!fields.at("config").is_object()) fields.fail("\"config\" is not an object");
  state.config_json = fields.at("config").dump();
  for (const Json& line : fields.list("fit_changes")) {
    state.fit_texts.push_back(fields.text(line, "fit_changes"));
  }
  if (!fields.has("fits")) return state;  // written by an older Snug
  for (const Json& fit : fields.list("fits")) {
    if (!fit.is_object()) fields.fail("\"fits\" is not a list of objects");
  }
  state.fits_json = fields.at("fits").dump();
  return state;
}

}  // namespace

std::string to_json(const Manifest& manifest) {
  const TrainingState& state = manifest.state;
  Json config = Json::parse(state.config_json, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) throw InternalError("the config to save is not a JSON object");
  Json fits = Json::parse(state.fits_json, nullptr, /*allow_exceptions=*/false);
  if (!fits.is_array()) throw InternalError("the fits to save are not a JSON list");
  Json document = {
      {"format", kFormatName},
      {"version", kManifestVersion},
      {"save_number", manifest.save_number},
      {"iteration", state.iteration},
      {"best_val_loss", std::isfinite(state.best_val_loss) ? Json(state.best_val_loss) : Json()},
      {"seed", state.seed},
      {"sequences_drawn", state.sequences_drawn},
      {"loss_scale",
       {{"factor", state.loss_scale.factor},
        {"good_updates", state.loss_scale.good_updates},
        {"skipped_updates", state.loss_scale.skipped_updates}}},
      {"config", std::move(config)},
      {"fits", std::move(fits)},
      {"fit_changes", state.fit_texts},
      {"model_file", digest_json(manifest.model_file)},
      {"optimizer_file", digest_json(manifest.optimizer_file)},
      {"weights", labels_json(manifest.weights)},
      {"optimizer", labels_json(manifest.optimizer)},
  };
  add_records(state.records, document);
  document["checksum"] = to_hex(checksum_of(document));
  return document.dump(1) + "\n";
}

Manifest parse_manifest(std::string_view text, const Path& file) {
  Json document = parse_document(text, file);
  require_our_document(document, file);
  const Fields fields(document, file);
  Manifest manifest;
  manifest.state = parse_state(fields);
  manifest.state.records = parse_records(document, file.string());
  manifest.save_number = fields.count("save_number");
  manifest.model_file = fields.digest("model_file");
  manifest.optimizer_file = fields.digest("optimizer_file");
  manifest.weights = fields.labels("weights");
  manifest.optimizer = fields.labels("optimizer");
  return manifest;
}

}  // namespace snug::checkpoint
