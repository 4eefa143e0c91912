// TensorBytes: the host's way, piece by piece, to the bytes of tensors that may lie where the host
// cannot look. An executor provides it while a load or save phase runs; the checkpoint store works
// with it and never learns where the bytes are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/bytes.h"

namespace snug {

class TensorBytes {
 public:
  // No call may ask for more: a device stages through a buffer of this size. Small enough to stay
  // in the second-level cache between a checksum and a system call.
  static constexpr std::int64_t kMaxPieceBytes = kMiB;
  using Fill = std::function<void(std::span<std::byte>)>;

  virtual ~TensorBytes() = default;

  // The bytes of tensor `id` from `offset` on. They stay as they are until the next call.
  virtual std::span<const std::byte> get(std::int32_t id, std::int64_t offset,
                                         std::int64_t byte_count) = 0;
  // Calls `fill`, which writes all of what it is given; then the tensor has these bytes. When
  // `fill` throws, the tensor's bytes are in any state.
  virtual void put(std::int32_t id, std::int64_t offset, std::int64_t byte_count,
                   const Fill& fill) = 0;
};

// Calls `handle(offset, byte_count)` for each piece of so many bytes, in order.
template <typename Handle>
void for_each_piece(std::int64_t byte_count, Handle handle) {
  for (std::int64_t at = 0; at < byte_count; at += TensorBytes::kMaxPieceBytes) {
    handle(at, std::min(TensorBytes::kMaxPieceBytes, byte_count - at));
  }
}

}  // namespace snug
