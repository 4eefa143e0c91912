// How far one device is off to one side on average: see op_bounds.h.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "base/float16.h"
#include "device/op_bounds.h"

namespace snug::device {
namespace {

// A sum of differences, and what it may be by chance.
class SignedSum {
 public:
  SignedSum(std::size_t rows, std::size_t columns) : rows_(rows), columns_(columns) {}

  void add(std::size_t row, std::size_t column, double difference) {
    sum_ += difference;
    squares_ += difference * difference;
    rows_[row] += difference;
    columns_[column] += difference;
  }
  // Both as a share of `magnitude`.
  Drift over(double magnitude) const {
    const double variance = std::max({squares_, squares_of(rows_), squares_of(columns_)});
    return {sum_ / magnitude, std::sqrt(variance) / magnitude};
  }
  bool is_finite() const { return std::isfinite(sum_) && std::isfinite(squares_); }

 private:
  // Of a single row, or column, nothing can be said: its sum is that of all, whose square would
  // hide any drift.
  static double squares_of(const std::vector<double>& sums) {
    if (sums.size() < 2) return 0;
    double squares = 0;
    for (const double sum : sums) squares += sum * sum;
    return squares;
  }

  double sum_ = 0, squares_ = 0;
  std::vector<double> rows_, columns_;
};

template <class Number>
Drift drift_as(std::span<const std::byte> a, std::span<const std::byte> b, std::int64_t row_width) {
  const auto at = [](std::span<const std::byte> bytes, std::size_t i) {
    Number number;
    std::memcpy(&number, bytes.data() + i * sizeof number, sizeof number);
    if constexpr (std::is_arithmetic_v<Number>) {
      return static_cast<double>(number);
    } else {
      return double{to_float(number)};
    }
  };
  const std::size_t count = b.size() / sizeof(Number);
  const auto width = static_cast<std::size_t>(std::max<std::int64_t>(row_width, 1));
  const std::size_t rows = (count + width - 1) / width;
  SignedSum inward(rows, width), down(rows, width);
  double magnitude = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double y = at(b, i), apart = at(a, i) - y;
    magnitude += std::abs(y);
    inward.add(i / width, i % width, y < 0 ? -apart : apart);
    down.add(i / width, i % width, apart);
  }
  if (magnitude == 0 || !std::isfinite(magnitude) || !down.is_finite()) return {};
  const Drift first = inward.over(magnitude), second = down.over(magnitude);
  const auto stands_out = [](const Drift& drift) {
    return drift.error == 0 ? 0 : std::abs(drift.mean) / drift.error;
  };
  return stands_out(first) >= stands_out(second) ? first : second;
}

}  // namespace

Drift drift_of(std::span<const std::byte> a, std::span<const std::byte> b, DType dtype,
               std::int64_t width) {
  switch (dtype) {
    case DType::kF64:
      return drift_as<double>(a, b, width);
    case DType::kF32:
      return drift_as<float>(a, b, width);
    case DType::kBF16:
      return drift_as<Bf16>(a, b, width);
    case DType::kF16:
      return drift_as<F16>(a, b, width);
    default:
      return {};
  }
}

}  // namespace snug::device
