#include "checkpoint/checksum.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL  // the header is the library: nothing to link
#include <xxhash.h>

namespace snug::checkpoint {

static_assert(sizeof(XXH3_state_t) <= 576 && alignof(XXH3_state_t) <= 64);

Checksum::Checksum() { XXH3_64bits_reset(reinterpret_cast<XXH3_state_t*>(state_.data())); }

void Checksum::update(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  XXH3_64bits_update(reinterpret_cast<XXH3_state_t*>(state_.data()), bytes.data(), bytes.size());
}

std::uint64_t Checksum::value() const {
  return XXH3_64bits_digest(reinterpret_cast<const XXH3_state_t*>(state_.data()));
}

std::string to_hex(std::uint64_t checksum) { return fmt::format("{:016x}", checksum); }

std::optional<std::uint64_t> parse_hex(std::string_view text) {
  if (text.size() != 16) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    const auto digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    value = (value << 4) | digit;
  }
  return value;
}

}  // namespace snug::checkpoint
