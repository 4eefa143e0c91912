// Arena: the one allocation of a memory space. It is as large as the plan says, and all of it is
// backed by memory before the first step, so that a run that starts cannot run out later.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug::cpu {

class Arena {
 public:
  // Throws CapacityError when the system refuses the bytes.
  explicit Arena(std::int64_t byte_count);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* data() const noexcept { return data_; }
  std::int64_t byte_count() const noexcept { return byte_count_; }

 private:
  std::byte* data_ = nullptr;  // zeroed, aligned to 2 MiB where that is worth it
  std::int64_t byte_count_ = 0;
  std::int64_t mapped_bytes_ = 0;
};

}  // namespace snug::cpu
