// CRC-32C (Castagnoli), as TensorFlow's record files have it.
#pragma once

#include <cstdint>
#include <string_view>

namespace snug::metrics {

std::uint32_t crc32c(std::string_view bytes) noexcept;

// Rotated and shifted, so that a checksum of data with checksums in it stays one.
constexpr std::uint32_t masked(std::uint32_t crc) noexcept {
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

}  // namespace snug::metrics
