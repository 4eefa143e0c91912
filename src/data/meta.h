// A dataset's meta.pkl, as nanoGPT writes and reads it: a pickled dict of vocab_size, itos and
// stoi. Snug adds one key that nanoGPT ignores: entropy_per_char, for text of known entropy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace snug::data {

struct Meta {
  std::int64_t vocab_size = 0;
  std::vector<std::string> itos;  // UTF-8 by id: vocab_size of them, or none at all
  std::unordered_map<std::string, std::int32_t> stoi;  // the inverse of itos
  // The nats per character no model can beat on val.bin, where the text's source is known.
  std::optional<double> entropy_floor;
};

// A Meta whose ids follow the order of `itos`; the entries must differ.
Meta make_meta(std::vector<std::string> itos);

// Nothing when `directory` holds no meta.pkl. Throws DataError, by key, for one that is damaged or
// contradicts itself.
std::optional<Meta> read_meta(const std::filesystem::path& directory);

// The same of the bytes of a meta.pkl, which `name` is called in errors.
Meta parse_meta(std::string_view bytes, const std::string& name);

// What meta.pkl holds for `meta`.
std::string pickle_of(const Meta& meta);

// Replaces meta.pkl in `directory`, which must exist, whole or not at all. Throws DeviceError.
void write_meta(const std::filesystem::path& directory, const Meta& meta);

}  // namespace snug::data
