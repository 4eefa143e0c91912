#include "backend/cpu/widened/widened_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/widened/widened_product.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include <omp.h>

#include <algorithm>

#include "backend/cpu/kernels/any_precision.h"
#include "backend/cpu/kernels/attention/tiles-inl.h"
#include "backend/cpu/kernels/float16-inl.h"
#include "backend/cpu/task_shares.h"
#include "base/error.h"
#include "base/integers.h"
#include "hwy/highway.h"

#ifndef SNUG_CPU_WIDENED_TILES_
#define SNUG_CPU_WIDENED_TILES_
namespace snug::cpu {

// The side of a tile of C, which one thread computes: a multiple of the micro-kernel's rows (12 or
// 6) and columns (32, 16, 8 or 2). The larger it is, the fewer times operands are packed; with two
// packed blocks the largest takes 960 KiB.
constexpr std::int64_t kMaxTile = 384, kMinTile = 96;
// Terms that are packed at a time where lines lie beside each other.
constexpr std::int64_t kPackedTerms = 8;

// One thread's scratch for tiles of `side`.
struct WidenedArrays {
  float *a, *b, *c;
  std::int64_t side;

  static std::int64_t floats(std::int64_t side) { return 2 * side * kWidenedDepth + side * side; }

  WidenedArrays(std::byte* scratch, std::int64_t of_side)
      : a(reinterpret_cast<float*>(scratch)),
        b(a + of_side * kWidenedDepth),
        c(b + of_side * kWidenedDepth),
        side(of_side) {}
};

// A tile of C: its place and how much of it exists.
struct WidenedTile {
  std::int64_t row, column, rows, columns;
};

}  // namespace snug::cpu
#endif  // SNUG_CPU_WIDENED_TILES_

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

// One term of kWidth lines that lie beside each other in memory, of which `count` exist. Where so
// many do and `may_overrun`, whole vectors are written, past kWidth where that is none: the caller
// overwrites it with the next term's.
template <std::int64_t kWidth, class X>
HWY_INLINE void copy_term(const X* HWY_RESTRICT from, std::int64_t count, bool may_overrun,
                          float* HWY_RESTRICT to) {
  const FloatTag d;
  constexpr std::int64_t kWhole = round_up(kWidth, kLanes);
  if (HWY_LIKELY(count >= kWhole && (kWhole == kWidth || may_overrun))) {
    for (std::int64_t i = 0; i < kWidth; i += kLanes) hn::StoreU(load_wide(d, from + i), d, to + i);
    return;
  }
  for (std::int64_t i = 0; i < kWidth; ++i) to[i] = i < count ? to_float(from[i]) : 0.0f;
}

// Terms [k, k + depth) of `count` lines from `first` on, as panels (depth, kWidth); lines beyond
// the count are zero.
template <std::int64_t kWidth, class X>
HWY_INLINE void pack_lines(const LinesOf<X>& lines, std::int64_t first, std::int64_t count,
                           std::int64_t k, std::int64_t depth, float* HWY_RESTRICT to) {
  if (!lines.k_along_stride) {
    pack_panels<kWidth>(Rows<X>{lines.data + first * lines.stride + k, lines.stride, count, depth},
                        1.0f, to);
    return;
  }
  // Some terms of all panels at a time: a term's lines lie beside each other, and terms a stride
  // apart, often in the same places of a cache. Panel by panel, or term by term, they push each
  // other out of it.
  for (std::int64_t some = 0; some < depth; some += kPackedTerms) {
    const std::int64_t end = std::min(depth, some + kPackedTerms);
    for (std::int64_t line = 0; line < count; line += kWidth) {
      const X* from = lines.data + (k + some) * lines.stride + first + line;
      float* panel = to + line * depth;
      for (std::int64_t t = some; t < end; ++t, from += lines.stride) {
        copy_term<kWidth>(from, count - line, t + 1 < depth, panel + t * kWidth);
      }
    }
  }
}

// What the sums of a tile start from.
template <class X>
HWY_INLINE void begin_tile(const WidenedProductOn<X>& p, const WidenedTile& tile,
                           const WidenedArrays& arrays) {
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    float* row = arrays.c + i * arrays.side;
    if (p.accumulate) {
      std::copy_n(p.c + (tile.row + i) * p.n + tile.column, tile.columns, row);
    } else if (p.bias != nullptr) {
      std::copy_n(p.bias + tile.column, tile.columns, row);
    } else {
      std::fill_n(row, tile.columns, 0.0f);
    }
  }
}

template <class X>
HWY_INLINE void end_tile(const WidenedProductOn<X>& p, const WidenedTile& tile,
                         const WidenedArrays& arrays) {
  const FloatTag d;
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const float* row = arrays.c + i * arrays.side;
    const std::int64_t at = (tile.row + i) * p.n + tile.column;
    if (p.y == nullptr) {
      std::copy_n(row, tile.columns, p.c + at);
      continue;
    }
    for (std::int64_t j = 0, rest = tile.columns; rest > 0; j += kLanes, rest -= kLanes) {
      store_upto(hn::Load(d, row + j), d, p.y + at + j, rest);
    }
  }
}

HWY_INLINE void multiply_tile(const WidenedArrays& arrays, const WidenedTile& tile,
                              std::int64_t depth) {
  for (std::int64_t column = 0; column < tile.columns; column += kColumns) {
    for (std::int64_t row = 0; row < tile.rows; row += kRows) {
      multiply_block<2, 1, kRows, Write::kAdd>({.depth = depth,
                                                .a = arrays.a + row * depth,
                                                .b = arrays.b + column * depth,
                                                .b_stride = kColumns,
                                                .c = arrays.c + row * arrays.side + column,
                                                .c_stride = arrays.side});
    }
  }
}

template <class X>
HWY_INLINE void widened_tile_of(const WidenedProductOn<X>& p, const WidenedTile& tile,
                                const WidenedArrays& arrays) {
  begin_tile(p, tile, arrays);
  const std::int64_t sequence = p.sequence > 0 ? p.sequence : p.k;
  for (std::int64_t k = 0; k < p.k;) {
    const std::int64_t in_sequence = (p.offset + k) % sequence;
    const std::int64_t depth = std::min({kWidenedDepth, sequence - in_sequence, p.k - k});
    pack_lines<kRows>(p.a, tile.row, tile.rows, k, depth, arrays.a);
    pack_lines<kColumns>(p.b, tile.column, tile.columns, k, depth, arrays.b);
    multiply_tile(arrays, tile, depth);
    k += depth;
  }
  end_tile(p, tile, arrays);
}

void widened_tile(AnyPrecision<WidenedProductOn> any, const WidenedTile& tile,
                  const WidenedArrays& arrays) {
  std::visit([&](const auto* p) HWY_ATTR { widened_tile_of(*p, tile, arrays); }, any);
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::cpu {

HWY_EXPORT(widened_tile);

namespace {

// Smaller where large tiles would leave threads without work; never larger for fewer rows.
std::int64_t tile_side(std::int64_t m, std::int64_t n, int threads) {
  std::int64_t side = kMaxTile;
  while (side > kMinTile && ceil_div(m, side) * ceil_div(n, side) < 4 * threads) side /= 2;
  return side;
}

}  // namespace

std::int64_t widened_scratch_bytes(std::int64_t m, std::int64_t n, int threads) {
  const std::int64_t floats = WidenedArrays::floats(tile_side(m, n, threads));
  return threads * floats * static_cast<std::int64_t>(sizeof(float));
}

template <class X>
void run_widened_product(const WidenedProductOn<X>& p, const Scratch& scratch) {
  const int threads = team_size();
  if (scratch.byte_count < widened_scratch_bytes(p.m, p.n, threads) ||
      p.offset % kWidenedDepth != 0) {
    throw InternalError("a widened product without its scratch, or from the midst of a block");
  }
  const std::int64_t side = tile_side(p.m, p.n, threads);
  const std::int64_t across = ceil_div(p.n, side);
  share_tasks(ceil_div(p.m, side) * across, [&](std::int64_t task) {
    const std::int64_t row = task / across * side, column = task % across * side;
    const WidenedArrays arrays(scratch.part(omp_get_thread_num(), threads), side);
    HWY_DYNAMIC_DISPATCH(widened_tile)
    (&p, {row, column, std::min(side, p.m - row), std::min(side, p.n - column)}, arrays);
  });
}

template void run_widened_product(const WidenedProductOn<float>&, const Scratch&);
template void run_widened_product(const WidenedProductOn<Bf16>&, const Scratch&);
template void run_widened_product(const WidenedProductOn<F16>&, const Scratch&);

}  // namespace snug::cpu
#endif  // HWY_ONCE
