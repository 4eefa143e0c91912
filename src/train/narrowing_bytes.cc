#include "train/narrowing_bytes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/float16.h"

namespace snug::train {
namespace {

constexpr std::int64_t kWidth = size_of(DType::kF32) / size_of(DType::kBF16);

template <class X>
void round_all(std::span<const std::byte> from, std::span<std::byte> to) {
  const auto* x = reinterpret_cast<const float*>(from.data());
  auto* y = reinterpret_cast<X*>(to.data());
  for (std::size_t i = 0; i < from.size() / sizeof(float); ++i) y[i] = nearest<X>(x[i]);
}

}  // namespace

bool NarrowingBytes::is_narrowed(std::int32_t id) const {
  const Tensor& tensor = program_.tensor(id);
  return tensor.role == Role::kWeights && tensor.dtype != DType::kF32;
}

std::span<const std::byte> NarrowingBytes::get(std::int32_t id, std::int64_t offset,
                                               std::int64_t byte_count) {
  if (is_narrowed(id)) {
    throw InternalError(fmt::format("'{}' is held in {} only: it cannot be saved in float32",
                                    program_.tensor(id).name, name_of(program_.tensor(id).dtype)));
  }
  return inner_.get(id, offset, byte_count);
}

void NarrowingBytes::put(std::int32_t id, std::int64_t offset, std::int64_t byte_count,
                         const Fill& fill) {
  if (!is_narrowed(id)) return inner_.put(id, offset, byte_count, fill);
  piece_.resize(static_cast<std::size_t>(std::max(std::ssize(piece_), byte_count)));
  const auto wide = std::span(piece_).first(static_cast<std::size_t>(byte_count));
  fill(wide);
  inner_.put(id, offset / kWidth, byte_count / kWidth, [&](std::span<std::byte> narrow) {
    program_.tensor(id).dtype == DType::kBF16 ? round_all<Bf16>(wide, narrow)
                                              : round_all<F16>(wide, narrow);
  });
}

}  // namespace snug::train
