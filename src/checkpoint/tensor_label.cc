#include "checkpoint/tensor_label.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

namespace snug::checkpoint {
namespace {

struct DTypeRow {
  std::string_view name;
  std::int64_t bytes;
  std::optional<DType> dtype = std::nullopt;
};

constexpr std::array kDTypes = {
    DTypeRow{"F32", 4, DType::kF32},
    DTypeRow{"BF16", 2, DType::kBF16},
    DTypeRow{"F16", 2, DType::kF16},
    DTypeRow{"I32", 4, DType::kI32},
    DTypeRow{"U16", 2, DType::kU16},
    DTypeRow{"U8", 1, DType::kU8},
    DTypeRow{"F64", 8},
    DTypeRow{"I64", 8},
    DTypeRow{"U64", 8},
    DTypeRow{"U32", 4},
    DTypeRow{"I16", 2},
    DTypeRow{"I8", 1},
    DTypeRow{"BOOL", 1},
    DTypeRow{"F8_E5M2", 1},
    DTypeRow{"F8_E4M3", 1},
};

std::string described(const TensorLabel& label) {
  return fmt::format("{} {}", label.dtype, to_string(label.shape));
}

}  // namespace

TensorLabel label_of(const NamedTensor& tensor) {
  return {tensor.name, std::string(safetensors_name(tensor.dtype)), tensor.shape};
}

std::string_view safetensors_name(DType dtype) {
  const auto row = std::ranges::find(kDTypes, std::optional(dtype), &DTypeRow::dtype);
  if (row == kDTypes.end()) throw InternalError("a dtype without a safetensors name");
  return row->name;
}

std::optional<std::int64_t> element_bytes(std::string_view safetensors_dtype) {
  const auto row = std::ranges::find(kDTypes, safetensors_dtype, &DTypeRow::name);
  if (row == kDTypes.end()) return std::nullopt;
  return row->bytes;
}

std::optional<Shape> shape_of(std::span<const std::int64_t> dims) {
  if (std::ranges::any_of(dims, [](std::int64_t dim) { return dim < 0; })) return std::nullopt;
  switch (dims.size()) {
    case 0:
      return Shape{};
    case 1:
      return Shape{dims[0]};
    case 2:
      return Shape{dims[0], dims[1]};
    case 3:
      return Shape{dims[0], dims[1], dims[2]};
    case 4:
      return Shape{dims[0], dims[1], dims[2], dims[3]};
    default:
      return std::nullopt;
  }
}

std::string printable(std::string_view name) {
  constexpr std::size_t kShown = 80;
  std::string text = "'";
  for (const char c : name.substr(0, kShown)) {
    const auto code = static_cast<unsigned char>(c);
    text += code < 0x20 || code == 0x7f ? fmt::format("\\x{:02x}", code) : std::string(1, c);
  }
  return text + (name.size() > kShown ? "...'" : "'");
}

void require_same_tensors(std::span<const TensorLabel> found, std::span<const NamedTensor> wanted,
                          const Path& where) {
  std::unordered_map<std::string_view, const TensorLabel*> by_name;
  for (const TensorLabel& label : found) by_name.emplace(label.name, &label);
  for (const NamedTensor& tensor : wanted) {
    const auto entry = by_name.find(tensor.name);
    if (entry == by_name.end()) {
      throw DataError(fmt::format("{}: tensor {} is missing\nthe model has {}", where.string(),
                                  printable(tensor.name), described(label_of(tensor))));
    }
    if (*entry->second != label_of(tensor)) {
      throw DataError(fmt::format("{}: tensor {} has another shape or dtype\nwanted {}, found {}",
                                  where.string(), printable(tensor.name),
                                  described(label_of(tensor)), described(*entry->second)));
    }
    by_name.erase(entry);
  }
  for (const TensorLabel& label : found) {  // in file order, so that the message is stable
    if (!by_name.contains(label.name)) continue;
    throw DataError(fmt::format("{}: tensor {} is not one of this model\nthe file has {}",
                                where.string(), printable(label.name), described(label)));
  }
}

}  // namespace snug::checkpoint
