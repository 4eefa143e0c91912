// How the fast kernels share work between threads: contiguous ranges of a fixed size. Sizes here
// may change speed but never bits, because no kernel lets a range's borders into its arithmetic.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cpu/task_shares.h"
#include "base/integers.h"

namespace snug::cpu {

// Below this many elements a kernel stays on the calling thread: waking a team costs about 5 us,
// the time in which one core streams some 32K floats.
constexpr std::int64_t kParallelWork = 1 << 15;

// Elements of one range: 32 KiB of floats, small enough to spread evenly, large enough that the
// call into the instruction set's function costs nothing in comparison. A multiple of 4, so that
// ranges of a sequence begin on a Philox block.
constexpr std::int64_t kChunk = 1 << 13;

// Columns that one thread reduces at a time: four cache lines per row, so that no two threads
// write one line of an aligned output, and the accumulators fit in registers or L1.
constexpr std::int64_t kColumnBlock = 64;

// body(begin, end) over [0, count) in ranges of `grain` items of `item_work` elements each.
template <class Body>
void for_each_range(std::int64_t count, std::int64_t grain, std::int64_t item_work, Body body) {
  const std::int64_t ranges = ceil_div(count, grain);
  const auto range = [&](std::int64_t r) { body(r * grain, std::min(count, (r + 1) * grain)); };
  // Not an `if` clause: libgomp allocates a team of one where that is false.
  if (ranges <= 1 || count * item_work < kParallelWork) {
    for (std::int64_t r = 0; r < ranges; ++r) range(r);
    return;
  }
  share_tasks(ranges, range);
}

// body(begin, end) over the elements [0, count) of contiguous arrays.
template <class Body>
void for_each_chunk(std::int64_t count, Body body) {
  for_each_range(count, kChunk, 1, body);
}

// body(begin, end) over `rows` rows of `width` elements.
template <class Body>
void for_each_rows(std::int64_t rows, std::int64_t width, Body body) {
  for_each_range(rows, std::max<std::int64_t>(1, kChunk / width), width, body);
}

// body(sequence, begin, end) over B sequences of `length` elements; begin is a multiple of kChunk.
template <class Body>
void for_each_sequence_chunk(std::int64_t B, std::int64_t length, Body body) {
  const std::int64_t chunks = ceil_div(length, kChunk);
  for_each_range(B * chunks, 1, std::min(length, kChunk), [&](std::int64_t i, std::int64_t) {
    const std::int64_t begin = i % chunks * kChunk;
    body(i / chunks, begin, std::min(length, begin + kChunk));
  });
}

// body(begin, end) over blocks of columns; `rows` is the height that each column is reduced over.
template <class Body>
void for_each_column_block(std::int64_t columns, std::int64_t rows, Body body) {
  for_each_range(columns, kColumnBlock, rows, body);
}

}  // namespace snug::cpu
