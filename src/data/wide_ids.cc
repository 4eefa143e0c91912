#include "data/wide_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace snug::data {

namespace {

constexpr std::int32_t kLargestUpperHalf = 1;  // of vocabularies up to 131,072

// What pieces of the file, each from an even position on, would be as halves of wider ids.
struct Halves {
  std::int32_t largest_lower = 0, largest_upper = 0;

  void add(std::span<const std::int32_t> ids) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::int32_t& largest = i % 2 == 0 ? largest_lower : largest_upper;
      largest = std::max(largest, ids[i]);
    }
  }
  // An upper half of 1 is an id above 65,535, of a vocabulary whose other ids are large, too: a
  // label of 0 or 1 after each of a few values is no such thing.
  bool are_halves() const {
    constexpr std::int32_t kLargeId = 1 << 14;
    return largest_upper <= kLargestUpperHalf && largest_lower > kLargestUpperHalf &&
           (largest_upper == 0 || largest_lower >= kLargeId);
  }
};

}  // namespace

bool looks_like_wide_ids(const TokenSource& tokens) {
  constexpr std::int64_t kEnough = 128, kPieces = 64;
  const std::int64_t count = tokens.token_count();
  if (tokens.has_header() || count < kEnough || count % 2 != 0) return false;
  std::array<std::int32_t, 4096> buffer;
  const std::int64_t size = std::min<std::int64_t>(count, std::ssize(buffer));
  Halves seen;
  for (std::int64_t piece = 0; piece < kPieces; ++piece) {
    const auto ids = std::span(buffer).first(static_cast<std::size_t>(size));
    const std::int64_t first = (count - size) / 2 * piece / (kPieces - 1) * 2;
    tokens.read(first, ids);
    seen.add(ids);
    if (seen.largest_upper > kLargestUpperHalf || first == count - size) break;
  }
  return seen.are_halves();
}

std::string wide_ids_notice(const TokenSource& tokens) {
  return fmt::format(
      "{}: every second id is 0 or 1, as if its ids took 32 bits; they are read as 16",
      tokens.name());
}

void require_narrow_ids(const TokenSource& tokens) {
  if (!looks_like_wide_ids(tokens)) return;
  throw DataError(fmt::format(
      "{}: every second id is 0 or 1, as if its ids took 32 bits: without a header they take 16\n"
      "write it again: python3 -c \"import numpy as np; np.fromfile('train.bin', np.uint32)"
      ".astype(np.uint16).tofile('new.bin')\", or ids above 65,535 as llm.c does (20240801)\n"
      "if its ids do take 16 bits, say how many there are: --vocab_size=N",
      tokens.name()));
}

}  // namespace snug::data
