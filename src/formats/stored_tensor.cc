#include "formats/stored_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "base/integers.h"
#include "formats/float_bits.h"

namespace snug::formats {
namespace {

constexpr std::size_t kBufferBytes = 1 << 14;

void decode(DType dtype, const std::byte* from, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (dtype == DType::kF64) {
      double value;
      std::memcpy(&value, from + 8 * i, sizeof value);
      out[i] = static_cast<float>(value);
    } else {
      std::uint16_t bits;
      std::memcpy(&bits, from + 2 * i, sizeof bits);
      out[i] = dtype == DType::kBF16 ? from_bfloat16(bits) : from_float16(bits);
    }
  }
}

// Elements that lie one after the other.
void read_run(const StoredTensor& tensor, std::int64_t first, std::span<float> out) {
  const std::int64_t size = size_of(tensor.dtype);
  if (tensor.dtype == DType::kF32) {
    return tensor.bytes->read(tensor.offset + first * size, std::as_writable_bytes(out));
  }
  std::array<std::byte, kBufferBytes> buffer;
  const std::size_t max_count = buffer.size() / static_cast<std::size_t>(size);
  while (!out.empty()) {
    const std::span<float> part = out.first(std::min(out.size(), max_count));
    const std::size_t bytes = part.size() * static_cast<std::size_t>(size);
    tensor.bytes->read(tensor.offset + first * size, std::span(buffer).first(bytes));
    decode(tensor.dtype, buffer.data(), part);
    first += std::ssize(part);
    out = out.subspan(part.size());
  }
}

// Of column `column` the rows that the wanted range covers are one run in the file.
void read_column(const StoredTensor& tensor, std::int64_t column, std::int64_t first,
                 std::span<float> out) {
  const std::int64_t rows = tensor.shape[0], columns = tensor.shape[1];
  const std::int64_t end = first + std::ssize(out);
  std::int64_t row = std::max<std::int64_t>(0, ceil_div(first - column, columns));
  const std::int64_t last = end <= column ? 0 : (end - column - 1) / columns + 1;
  std::array<float, 1024> buffer;
  while (row < last) {
    const std::int64_t count = std::min<std::int64_t>(last - row, std::ssize(buffer));
    read_run(tensor, column * rows + row, std::span(buffer).first(static_cast<std::size_t>(count)));
    for (std::int64_t i = 0; i < count; ++i, ++row) {
      out[static_cast<std::size_t>(row * columns + column - first)] =
          buffer[static_cast<std::size_t>(i)];
    }
  }
}

}  // namespace

void StoredTensor::read(std::int64_t first, std::span<float> out) const {
  if (first < 0 || std::ssize(out) > element_count() - first) {
    throw InternalError("elements outside a stored tensor");
  }
  if (!transposed) return read_run(*this, first, out);
  for (std::int64_t column = 0; column < shape[1]; ++column) {
    read_column(*this, column, first, out);
  }
}

StoredTensor transposed(StoredTensor tensor) {
  tensor.shape = Shape{tensor.shape[1], tensor.shape[0]};
  tensor.transposed = !tensor.transposed;
  return tensor;
}

bool same_values(const StoredTensor& a, const StoredTensor& b) {
  if (a.shape != b.shape) return false;
  const bool same_bytes = a.bytes == b.bytes && a.offset == b.offset && a.dtype == b.dtype &&
                          a.transposed == b.transposed;
  if (same_bytes) return true;
  std::array<float, 4096> ours, others;
  for (std::int64_t first = 0; first < a.element_count(); first += std::ssize(ours)) {
    const auto count = static_cast<std::size_t>(
        std::min<std::int64_t>(std::ssize(ours), a.element_count() - first));
    a.read(first, std::span(ours).first(count));
    b.read(first, std::span(others).first(count));
    if (std::memcmp(ours.data(), others.data(), count * sizeof(float)) != 0) return false;
  }
  return true;
}

std::string_view without_wrappers(std::string_view name) {
  constexpr std::string_view kWrappers[] = {"module.", "_orig_mod."};
  const auto before_name = [&] {
    return std::ranges::find_if(
        kWrappers, [&](std::string_view wrapper) { return name.starts_with(wrapper); });
  };
  for (auto at = before_name(); at != std::end(kWrappers); at = before_name()) {
    name.remove_prefix(at->size());
  }
  return name;
}

void check_extent(const StoredTensor& tensor, const std::string& name, const std::string& file) {
  std::int64_t bytes = size_of(tensor.dtype);
  bool wrong = false;
  for (int axis = 0; axis < tensor.shape.rank(); ++axis) {
    wrong |= tensor.shape[axis] < 0 || __builtin_mul_overflow(bytes, tensor.shape[axis], &bytes);
  }
  const std::int64_t there = tensor.bytes->byte_count();
  wrong |= tensor.offset < 0 || tensor.offset > there;
  if (!wrong && bytes <= there - tensor.offset) return;
  throw DataError(fmt::format(
      "{}: tensor {} of shape {} lies outside its data\nbytes from {} on were wanted, {} are "
      "there: the file is cut off or damaged",
      file, name, to_string(tensor.shape), tensor.offset, there));
}

}  // namespace snug::formats
