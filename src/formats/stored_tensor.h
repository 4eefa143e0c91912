// A tensor as a foreign file stores it: any floating-point type, rows or columns first. It is read
// in any range of elements of the layout that Snug has, as float32 and without a copy of the whole.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "base/shape.h"
#include "formats/byte_source.h"

namespace snug::formats {

struct StoredTensor {
  const ByteSource* bytes = nullptr;  // outlives this
  std::int64_t offset = 0;            // of the first element, in bytes
  DType dtype = DType::kF32;          // kF64, kF32, kBF16 or kF16
  Shape shape;                        // of 0, 1 or 2 dimensions, as Snug has it
  bool transposed = false;            // two dimensions, stored as (columns, rows)

  std::int64_t element_count() const { return shape.element_count(); }
  // Elements `first` to `first + out.size()` of the row-major (rows, columns).
  void read(std::int64_t first, std::span<float> out) const;
};

// What is stored as (in, out), seen as (out, in).
StoredTensor transposed(StoredTensor tensor);

// The same shape, and the same values bit by bit once they are float32.
bool same_values(const StoredTensor& a, const StoredTensor& b);

// A tensor's name without what DistributedDataParallel and torch.compile, in any order, put before
// it: "module.", "_orig_mod.".
std::string_view without_wrappers(std::string_view name);

// Throws DataError unless all of the tensor lies within its bytes.
void check_extent(const StoredTensor& tensor, const std::string& name, const std::string& file);

}  // namespace snug::formats
