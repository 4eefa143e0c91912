#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "checkpoint/manifest.h"
#include "checkpoint/safetensors_header.h"
#include "data/meta.h"
#include "fuzz_targets.h"

namespace snug {
namespace {

using Json = nlohmann::json;

// The document with a checksum that fits; nothing when the bytes are no JSON object, or one that
// cannot be written back.
std::optional<std::string> with_checksum(std::string_view bytes) {
  constexpr int kDepth = 64;
  const auto shallow = [](int depth, Json::parse_event_t, Json&) { return depth <= kDepth; };
  try {
    Json document = Json::parse(bytes, shallow, /*allow_exceptions=*/true);
    if (!document.is_object()) return std::nullopt;
    document.erase("checksum");
    checkpoint::Checksum checksum;
    checksum.update(document.dump());
    document["checksum"] = checkpoint::to_hex(checksum.value());
    return document.dump();
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

void read_state(std::string_view bytes) {
  try {
    const checkpoint::Manifest manifest = checkpoint::parse_manifest(bytes, "state.json");
    const checkpoint::Manifest again = checkpoint::parse_manifest(to_json(manifest), "again");
    require(again.state.records == manifest.state.records, "records come back as they were");
    require(again.weights == manifest.weights && again.optimizer == manifest.optimizer,
            "tensors come back as they were");
    require(again.save_number == manifest.save_number, "the number comes back as it was");
  } catch (const DataError&) {
  }
}

}  // namespace

void fuzz_pickle(std::string_view bytes) {
  try {
    const data::Meta meta = data::parse_meta(bytes, "meta.pkl");
    require(meta.itos.empty() || std::ssize(meta.itos) == meta.vocab_size, "an id, a text");
    const data::Meta again = data::parse_meta(data::pickle_of(meta), "again");
    require(again.itos == meta.itos && again.vocab_size == meta.vocab_size,
            "a vocabulary comes back as it was");
  } catch (const DataError&) {
  }
}

void fuzz_safetensors(std::string_view bytes) {
  const std::size_t line = std::min(bytes.find('\n'), bytes.size());
  std::int64_t data_bytes = 0;
  std::from_chars(bytes.data(), bytes.data() + line, data_bytes);
  if (data_bytes < 0) return;
  try {
    const checkpoint::SafetensorsHeader header = checkpoint::parse_safetensors_header(
        bytes.substr(std::min(line + 1, bytes.size())), data_bytes, "file");
    std::int64_t at = 0;
    for (const checkpoint::SafetensorsEntry& entry : header.entries) {
      require(entry.begin == at && entry.end >= entry.begin, "no gap and no overlap");
      at = entry.end;
    }
    require(at == data_bytes, "all data is covered");
  } catch (const DataError&) {
  }
}

void fuzz_state(std::string_view bytes) {
  read_state(bytes);
  if (const auto fitting = with_checksum(bytes)) read_state(*fitting);
}

}  // namespace snug
