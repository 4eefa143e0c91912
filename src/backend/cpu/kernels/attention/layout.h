// Tile sizes of the fast attention kernels and where their scratch arrays lie, in floats. One place
// for both the booked size and the addresses, the same for every instruction set.
#pragma once

#include <cstdint>

#include "base/integers.h"

namespace snug::cpu {

// Queries and keys per tile, fixed, so that a sum's order depends on T and D only. Both are
// multiples of the micro-kernel's rows (12 or 6), the keys also of its columns (32, 16, 8 or 2).
// Two score tiles take 2 * 48 * 96 * 4 = 36 KiB: with one 8 KiB panel of the right-hand side (D =
// 64) they stay in a 48 KiB L1. 96 keys give the value product a depth that hides its loads and
// stores.
constexpr std::int64_t kQueryTile = 48;
constexpr std::int64_t kKeyTile = 96;
// The diagonal tile then always shows its first key to every one of its queries.
static_assert(kKeyTile % kQueryTile == 0);

constexpr std::int64_t kMaxLanes = 16;   // floats of the widest vector; also the 64-byte line
constexpr std::int64_t kLineBytes = 64;  // every array starts on a cache line

// Offsets, in floats, of consecutive arrays that each take whole cache lines.
struct ArrayOffsets {
  std::int64_t used = 0;
  constexpr std::int64_t take(std::int64_t floats) {
    const std::int64_t offset = used;
    used += round_up(floats, kMaxLanes);
    return offset;
  }
};

// One thread of the forward pass.
struct ForwardLayout {
  std::int64_t padded_D, keys, values, queries, scores, sums, totals, maxima, rescale, floats;

  constexpr ForwardLayout(std::int64_t T, std::int64_t D) {
    ArrayOffsets offsets;
    padded_D = round_up(D, kMaxLanes);
    keys = offsets.take(round_up(T, kKeyTile) * D);  // panels (D, columns) of all keys
    values = offsets.take(T * padded_D);             // rows of all values
    queries = offsets.take(kQueryTile * D);          // panels (D, rows)
    scores = offsets.take(kQueryTile * kKeyTile);    // scores, then probabilities
    sums = offsets.take(kQueryTile * padded_D);      // output before normalisation
    totals = offsets.take(kQueryTile * kMaxLanes);   // sum of exponentials, lane by lane
    maxima = offsets.take(kQueryTile);
    rescale = offsets.take(kQueryTile);  // exp of the fall of the maximum
    floats = offsets.used;
  }
};

// The backward pass: query-side arrays of one head, all T rows of them.
struct BackwardHeadLayout {
  std::int64_t padded_D, query_panels, dout_panels, query_rows, dout_rows, dquery, lse, delta,
      floats;

  constexpr BackwardHeadLayout(std::int64_t T, std::int64_t D) {
    ArrayOffsets offsets;
    const std::int64_t padded_T = round_up(T, kQueryTile);
    padded_D = round_up(D, kMaxLanes);
    query_panels = offsets.take(padded_T * D);
    dout_panels = offsets.take(padded_T * D);
    query_rows = offsets.take(padded_T * padded_D);
    dout_rows = offsets.take(padded_T * padded_D);
    dquery = offsets.take(padded_T * padded_D);
    lse = offsets.take(padded_T);    // in units of log 2
    delta = offsets.take(padded_T);  // rowsum(dout * out)
    floats = offsets.used;
  }
};

// The backward pass: one thread's tile of keys and values, and its tiles of scores.
struct BackwardTileLayout {
  std::int64_t key_panels, value_panels, key_rows, dkeys, dvalues, probabilities, dscores, floats;

  constexpr explicit BackwardTileLayout(std::int64_t D) {
    ArrayOffsets offsets;
    const std::int64_t padded_D = round_up(D, kMaxLanes);
    key_panels = offsets.take(kKeyTile * D);
    value_panels = offsets.take(kKeyTile * D);
    key_rows = offsets.take(kKeyTile * padded_D);
    dkeys = offsets.take(kKeyTile * padded_D);
    dvalues = offsets.take(kKeyTile * padded_D);
    probabilities = offsets.take(kQueryTile * kKeyTile);
    dscores = offsets.take(kQueryTile * kKeyTile);
    floats = offsets.used;
  }
};

// The first cache line inside a thread's scratch. The parts of all threads shift by the same bytes,
// and there is room for that after the last one.
inline float* line_in(std::byte* scratch) {
  const auto address = reinterpret_cast<std::uintptr_t>(scratch);
  return reinterpret_cast<float*>((address + kLineBytes - 1) / kLineBytes * kLineBytes);
}

}  // namespace snug::cpu
