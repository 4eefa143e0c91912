// Weights that a program holds in 16 bits only (evaluation, sampling), filled by a host that has
// them in float32: the host sees float32 tensors, and each piece is rounded as it is put.
#pragma once

#include <vector>

#include "base/tensor_bytes.h"
#include "program/program.h"

namespace snug::train {

class NarrowingBytes : public TensorBytes {
 public:
  // Both must outlive it.
  NarrowingBytes(TensorBytes& inner, const program::Program& program)
      : inner_(inner), program_(program) {}

  // Throws InternalError for a tensor in 16 bits that is not bytes to the host as well: what was
  // rounded cannot be had back.
  std::span<const std::byte> get(std::int32_t id, std::int64_t offset,
                                 std::int64_t byte_count) override;
  void put(std::int32_t id, std::int64_t offset, std::int64_t byte_count,
           const Fill& fill) override;

 private:
  bool is_narrowed(std::int32_t id) const;

  TensorBytes& inner_;
  const program::Program& program_;
  std::vector<std::byte> piece_;  // float32, one piece at most
};

}  // namespace snug::train
