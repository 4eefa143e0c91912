// An op's scratch, and each thread's part of it. A part begins at the same byte in every op that is
// granted the same scratch, so that it stays in the cache of its thread's core.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug::cpu {

struct Scratch {
  std::byte* data = nullptr;
  std::int64_t byte_count = 0;

  std::byte* part(int thread, int threads) const {
    constexpr std::int64_t kLine = 64;  // no two parts share a cache line if data begins on one
    return data + thread * (byte_count / threads / kLine * kLine);
  }
  float* floats() const { return reinterpret_cast<float*>(data); }
};

}  // namespace snug::cpu
