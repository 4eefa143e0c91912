// An op's scratch, and each thread's part of it. A part begins at the same byte in every op that is
// granted the same scratch, so that it stays in the cache of its thread's core.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug::cpu {

struct Scratch {
  std::byte* data = nullptr;
  std::int64_t byte_count = 0;

  // Whole cache lines: no two parts share one if data begins on one.
  std::int64_t part_bytes(int threads) const { return byte_count / threads / 64 * 64; }
  std::byte* part(int thread, int threads) const { return data + thread * part_bytes(threads); }
  float* floats() const { return reinterpret_cast<float*>(data); }
};

}  // namespace snug::cpu
