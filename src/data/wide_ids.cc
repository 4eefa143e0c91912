#include "data/wide_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace snug::data {

bool looks_like_wide_ids(const TokenSource& tokens) {
  constexpr std::int64_t kEnough = 128;
  constexpr std::int32_t kLargestUpperHalf = 1;  // of vocabularies up to 131,072
  std::array<std::int32_t, 4096> buffer;
  const std::int64_t count = std::min<std::int64_t>(tokens.token_count(), std::ssize(buffer));
  if (count < kEnough) return false;
  const auto ids = std::span(buffer).first(static_cast<std::size_t>(count));
  tokens.read(0, ids);
  bool lower_halves = false;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool small = ids[i] <= kLargestUpperHalf;
    if (i % 2 == 1 && !small) return false;
    lower_halves |= !small;
  }
  return lower_halves;
}

void require_narrow_ids(const TokenSource& tokens) {
  if (!looks_like_wide_ids(tokens)) return;
  throw DataError(fmt::format(
      "{}: every second id is 0 or 1, as if its ids took 32 bits: without a header they take 16\n"
      "write it again: python3 -c \"import numpy as np; np.fromfile('train.bin', np.uint32)"
      ".astype(np.uint16).tofile('new.bin')\", or ids above 65,535 as llm.c does (20240801)",
      tokens.name()));
}

}  // namespace snug::data
