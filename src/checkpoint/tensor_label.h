// Tensors by name, as a checkpoint sees them: the caller's, and the labels found in a file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"
#include "checkpoint/file_system.h"

namespace snug::checkpoint {

// A tensor of the caller. Its bytes are the caller's: TensorBytes has them under `id`.
struct NamedTensor {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  std::int32_t id = -1;

  std::int64_t byte_count() const { return checked_mul(shape.element_count(), size_of(dtype)); }
};

// What a file says of one tensor. `dtype` is spelt as in safetensors ("F32", "BF16", ...) and may
// be one that Snug cannot hold.
struct TensorLabel {
  std::string name;
  std::string dtype;
  Shape shape;
  bool operator==(const TensorLabel&) const = default;
};

TensorLabel label_of(const NamedTensor& tensor);

std::string_view safetensors_name(DType dtype);
// Nothing for a spelling that safetensors does not have.
std::optional<std::int64_t> element_bytes(std::string_view safetensors_dtype);

// Nothing when there are more dimensions than a Shape holds or one is negative.
std::optional<Shape> shape_of(std::span<const std::int64_t> dims);

// The name in quotes, cut and escaped, so that a message can carry what a hostile file holds.
std::string printable(std::string_view name);

// Throws DataError, naming `where` and the tensor, unless `found` and `wanted` are the same set of
// names with the same dtypes and shapes, in any order. Names in `found` are unique.
void require_same_tensors(std::span<const TensorLabel> found, std::span<const NamedTensor> wanted,
                          const Path& where);

}  // namespace snug::checkpoint
