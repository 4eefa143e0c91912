// The extent of a tensor: up to four dimensions, outermost first, row-major.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "base/bytes.h"

namespace snug {

class Shape {
 public:
  static constexpr int kMaxRank = 4;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) {
    assert(dims.size() <= kMaxRank);
    for (const std::int64_t dim : dims) dims_[static_cast<std::size_t>(rank_++)] = dim;
  }

  int rank() const noexcept { return rank_; }
  std::int64_t operator[](int axis) const noexcept {
    assert(axis >= 0 && axis < rank_);
    return dims_[static_cast<std::size_t>(axis)];
  }
  std::int64_t element_count() const {
    std::int64_t count = 1;
    for (int axis = 0; axis < rank_; ++axis) count = checked_mul(count, (*this)[axis]);
    return count;
  }
  bool operator==(const Shape&) const = default;

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

// "(2, 1024, 768)".
std::string to_string(const Shape& shape);

}  // namespace snug
