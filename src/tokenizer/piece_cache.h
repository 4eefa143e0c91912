// The tokens of pieces met before: a direct-mapped cache of 32-byte entries, a megabyte in all, so
// that it stays in the second-level cache. Holds pieces of up to 15 bytes and 7 tokens, which is
// nearly every word of English.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace snug::tokenizer {

class PieceCache {
 public:
  static constexpr std::size_t kMaxPieceBytes = 15;
  static constexpr std::size_t kMaxTokens = 7;

  // A piece as two words: its bytes, zeros, and its length in the last byte.
  struct Key {
    std::uint64_t low = 0, high = 0;
    bool operator==(const Key&) const = default;
  };

  struct Entry {
    Key key;
    std::uint16_t token_count = 0;
    std::array<std::uint16_t, kMaxTokens> tokens{};
  };

  PieceCache() : entries_(std::size_t{1} << kEntryBits) {}

  // Of a piece of 1 to kMaxPieceBytes bytes, which begins `readable`: bytes after the piece are
  // looked at, if there are any, and do not count.
  static Key key_of(std::string_view piece, std::string_view readable) noexcept {
    unsigned char bytes[16] = {};
    Key key;
    if (readable.size() >= sizeof(bytes)) {
      std::memcpy(&key.low, readable.data(), 8);
      std::memcpy(&key.high, readable.data() + 8, 8);
      const std::size_t bits = piece.size() * 8;
      if (bits < 64) {
        key.low &= (std::uint64_t{1} << bits) - 1;
        key.high = 0;
      } else {
        key.high &= (std::uint64_t{1} << (bits - 64)) - 1;
      }
    } else {
      std::memcpy(bytes, piece.data(), piece.size());
      std::memcpy(&key.low, bytes, 8);
      std::memcpy(&key.high, bytes + 8, 8);
    }
    key.high |= std::uint64_t{piece.size()} << 56;
    return key;
  }

  // The entry where `key` is, or would be put.
  Entry& entry_of(const Key& key) noexcept {
    const std::uint64_t mixed =
        (key.low * 0x9E3779B97F4A7C15ULL) ^ (key.high * 0xC2B2AE3D27D4EB4FULL);
    return entries_[static_cast<std::size_t>((mixed * 0x9E3779B97F4A7C15ULL) >> (64 - kEntryBits))];
  }

  static void put(Entry& entry, const Key& key, std::span<const std::uint16_t> tokens) noexcept {
    entry.key = key;
    entry.token_count = static_cast<std::uint16_t>(tokens.size());
    std::copy(tokens.begin(), tokens.end(), entry.tokens.begin());
  }

 private:
  static constexpr int kEntryBits = 15;
  std::vector<Entry> entries_;
};

}  // namespace snug::tokenizer
