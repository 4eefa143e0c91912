// XXH3 with 64 bits (xxHash by Yann Collet): detects incomplete or corrupted files at the
// speed of memory. Not a defence against someone who forges a file on purpose.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace snug::checkpoint {

// The checksum of a stream of bytes, however it is cut into pieces. Copies carry on independently.
class Checksum {
 public:
  Checksum();
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text) { update(std::as_bytes(std::span(text))); }
  std::uint64_t value() const;

 private:
  static constexpr std::size_t kStateBytes = 576;  // sizeof(XXH3_state_t), asserted in checksum.cc
  alignas(64) std::array<std::byte, kStateBytes> state_{};
};

// What a file must be to be the file that was written.
struct FileDigest {
  std::int64_t byte_count = 0;
  std::uint64_t checksum = 0;
  bool operator==(const FileDigest&) const = default;
};

// 16 lower-case hexadecimal digits, and back; nothing when the text is anything else.
std::string to_hex(std::uint64_t checksum);
std::optional<std::uint64_t> parse_hex(std::string_view text);

}  // namespace snug::checkpoint
