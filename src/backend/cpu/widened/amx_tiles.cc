// Tile products on AMX.
#include "backend/cpu/widened/tile_tasks.h"

#if defined(__x86_64__)
#include <algorithm>
#include <array>

#ifdef SNUG_EMULATED_INTRINSICS
#include "backend/cpu/widened/emulated_intrinsics.h"
#else
#include <immintrin.h>

#include "backend/cpu/split/panels.h"
#endif
#include "hwy/base.h"

// GCC 12 warns of the undefined operands of its own intrinsics.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

// Called only where amx_usable(); the attributes keep the rest of the program free of these
// instructions.
HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512vl,amx-tile,amx-bf16")

#include "backend/cpu/widened/tile_worker-inl.h"

namespace snug::cpu {
namespace {

// The intrinsics that load tiles do not tell the compiler that they read memory.
void finish_stores() { asm volatile("" ::: "memory"); }

// Tiles 0 to 3 are the sums, row by row; 4 and 5 hold A's rows, 6 and 7 B's columns.
void load_sums(const Sums<const float>& from) {
  finish_stores();
  const auto* at = reinterpret_cast<const std::byte*>(from.data);
  const std::int64_t row_bytes = from.stride * 4;
  _tile_loadd(0, at, row_bytes);
  _tile_loadd(1, at + kTileLine, row_bytes);
  _tile_loadd(2, at + kTileRows * row_bytes, row_bytes);
  _tile_loadd(3, at + kTileRows * row_bytes + kTileLine, row_bytes);
}

void store_sums(const Sums<float>& to) {
  auto* at = reinterpret_cast<std::byte*>(to.data);
  const std::int64_t row_bytes = to.stride * 4;
  _tile_stored(0, at, row_bytes);
  _tile_stored(1, at + kTileLine, row_bytes);
  _tile_stored(2, at + kTileRows * row_bytes, row_bytes);
  _tile_stored(3, at + kTileRows * row_bytes + kTileLine, row_bytes);
  finish_stores();
}

// A's blocks stay in the first-level cache while B's panels pass by: their loads ask not to be
// kept, or they push A's out (decision 0077).
struct AmxUnit {
  static void add(const Sums<const float>& from, const TilePanelA& a, const std::byte* b,
                  std::int64_t blocks, const Sums<float>& to) {
    load_sums(from);
    const std::byte* x = a.data;
    const std::int64_t line = a.line_bytes, lower = kTileRows * line;
    for (std::int64_t i = 0; i < blocks; ++i, x += a.block_bytes, b += kTileBlockBytes) {
      _tile_stream_loadd(6, b, kTileLine);
      _tile_loadd(4, x, line);
      _tile_dpbf16ps(0, 4, 6);
      _tile_stream_loadd(7, b + kTileSize, kTileLine);
      _tile_dpbf16ps(1, 4, 7);
      _tile_loadd(5, x + lower, line);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    store_sums(to);
  }
};

}  // namespace

void work_on_amx(const TileTasks& tasks, int thread) {
  const TileRegisters tiles;
  work_on_tiles<AmxUnit>(tasks, thread);
}

}  // namespace snug::cpu

HWY_POP_ATTRIBUTES

#else  // never called: amx_usable() is false

#include <cstdlib>

void snug::cpu::work_on_amx(const TileTasks&, int) { std::abort(); }

#endif
