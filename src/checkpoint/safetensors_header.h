// The JSON header of a safetensors file: made from the caller's tensors, or taken from a file of
// unknown origin and checked in full. Knows nothing of files. Format: docs/formats.md.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/tensor_label.h"

namespace snug::checkpoint {

constexpr std::int64_t kSafetensorsPrefixBytes = 8;               // the length of the header
constexpr std::int64_t kSafetensorsMaxHeaderBytes = 100'000'000;  // the limit of the format
constexpr std::int64_t kSafetensorsMaxTensorCount = 1 << 16;      // our limit
constexpr std::int64_t kSafetensorsDataAlignment = 64;            // one cache line; 8 would do

// Offsets count from the first byte after the header. Invariant: end - begin = bytes of the label.
struct SafetensorsEntry {
  TensorLabel label;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of their data
  std::map<std::string, std::string> metadata;
};

// The header for these tensors, laid out in the order given without gaps, padded with spaces so
// that the data starts aligned. The same tensors give the same bytes. Throws InternalError when a
// name occurs twice, is not UTF-8 or is "__metadata__".
std::string make_safetensors_header(std::span<const NamedTensor> tensors);

// Throws DataError that names `file` unless the header is well formed, no name occurs twice and the
// entries cover `data_bytes` without gap or overlap. Takes memory in proportion to the header,
// whatever it claims.
SafetensorsHeader parse_safetensors_header(std::string_view header, std::int64_t data_bytes,
                                           const Path& file);

}  // namespace snug::checkpoint
