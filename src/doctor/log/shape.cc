#include "doctor/log/shape.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/error.h"
#include "doctor/log/text.h"

namespace snug::doctor::log {
namespace {

// No tensor of PyTorch has more; a longer list is no shape.
constexpr std::size_t kMaxRank = 16;

// The whole numbers of a list up to `close`; moves `at` after it. Not parse_count: the commas here
// part dimensions, not thousands.
std::optional<std::vector<std::int64_t>> parse_dims(std::string_view text, std::size_t& at,
                                                    char close) {
  std::vector<std::int64_t> dims;
  while (at < text.size() && text[at] != close) {
    std::int64_t dim = 0;
    const std::size_t begin = at;
    while (at < text.size() && is_digit(text[at]) && at - begin < 18) {
      dim = dim * 10 + (text[at++] - '0');
    }
    if (at == begin || dims.size() == kMaxRank) return std::nullopt;
    dims.push_back(dim);
    if (at < text.size() && text[at] == ',') ++at;
  }
  if (at >= text.size()) return std::nullopt;
  ++at;
  return dims;
}

struct DtypeName {
  std::string_view printed;
  std::string_view name;
  std::int64_t size_bytes;
};
constexpr std::array<DtypeName, 16> kDtypes{{{"bfloat16", "bfloat16", 2},
                                             {"float16", "float16", 2},
                                             {"float32", "float32", 4},
                                             {"float64", "float64", 8},
                                             {"float8", "float8", 1},
                                             {"half", "float16", 2},
                                             {"double", "float64", 8},
                                             {"float", "float32", 4},
                                             {"uint16", "uint16", 2},
                                             {"uint8", "uint8", 1},
                                             {"int64", "int64", 8},
                                             {"int32", "int32", 4},
                                             {"int16", "int16", 2},
                                             {"int8", "int8", 1},
                                             {"bool", "bool", 1},
                                             {"complex64", "complex64", 8}}};

std::string dtype_at(std::string_view text) {
  const auto found = std::find_if(kDtypes.begin(), kDtypes.end(), [&](const DtypeName& dtype) {
    return text.starts_with(dtype.printed);
  });
  return found == kDtypes.end() ? std::string{} : std::string(found->name);
}

std::string dtype_after(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos || at > 24) return {};
  return dtype_at(text.substr(at + words.size()));
}

}  // namespace

std::optional<std::int64_t> byte_count_of(const LogShape& shape) {
  const auto dtype = std::find_if(kDtypes.begin(), kDtypes.end(),
                                  [&](const DtypeName& d) { return d.name == shape.dtype; });
  if (dtype == kDtypes.end()) return std::nullopt;
  try {
    std::int64_t bytes = dtype->size_bytes;
    for (const std::int64_t dim : shape.dims) bytes = checked_mul(bytes, dim);
    return bytes;
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

std::optional<LogShape> shape_of_strided(std::string_view folded_text) {
  std::size_t at = folded_text.find("((");
  // "_cuda", "_xpu", "_cpu", "_cuda_p2p": nothing longer stands between.
  if (at == std::string_view::npos || at > 8) return std::nullopt;
  at += 2;
  std::optional<std::vector<std::int64_t>> dims = parse_dims(folded_text, at, ')');
  if (!dims || folded_text.substr(at, 2) != ",(") return std::nullopt;
  at += 2;
  if (!parse_dims(folded_text, at, ')')) return std::nullopt;
  const std::size_t close = folded_text.find(')', at);
  if (close == std::string_view::npos) return std::nullopt;
  const std::string dtype = dtype_after(folded_text.substr(at, close - at), "torch.");
  return LogShape{std::move(*dims), dtype, 0};
}

std::optional<LogShape> shape_in_message(std::string_view folded_text) {
  for (const std::string_view words : {"withshape[", "withshape("}) {
    std::size_t at = folded_text.find(words);
    if (at == std::string_view::npos) continue;
    at += words.size();
    const char close = words.back() == '[' ? ']' : ')';
    std::optional<std::vector<std::int64_t>> dims = parse_dims(folded_text, at, close);
    if (!dims) continue;
    const std::string_view rest = folded_text.substr(at);
    std::string dtype = dtype_after(rest, "datatype");
    if (dtype.empty()) dtype = dtype_after(rest, "type");
    return LogShape{std::move(*dims), dtype, 0};
  }
  return std::nullopt;
}

}  // namespace snug::doctor::log
