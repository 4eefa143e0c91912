#include "backend/cpu/widened/tile_product.h"

#include <omp.h>

#include "backend/cpu/split/amx.h"
#include "backend/cpu/widened/tile_tasks.h"
#include "base/error.h"

namespace snug::cpu {
namespace {

// Blocks of B that a task holds packed, half of a second-level cache: 2 MiB where there is AMX, 1
// MiB on the other processors that multiply bfloat16.
std::int64_t held_blocks(TileUnit unit) { return unit == TileUnit::kAmx ? 512 : 256; }

TileDivision division_of(const WidenedProductOn<Bf16>& p, int threads, TileUnit unit) {
  return divide_tiles({.m = p.m,
                       .n = p.n,
                       .blocks = blocks_of(p).count(),
                       .by_rows = is_weight_gradient(p),
                       .sums_in_scratch = keeps_sums(p),
                       .held_blocks = held_blocks(unit)},
                      threads);
}

}  // namespace

std::optional<TileUnit> tile_unit() {
  if (amx_usable()) return TileUnit::kAmx;
  if (avx512_bf16_pays()) return TileUnit::kAvx512Bf16;
  return std::nullopt;
}

std::int64_t tile_scratch_bytes(const WidenedProductOn<Bf16>& product, int threads, TileUnit unit) {
  // Fewer rows or terms may be divided otherwise, but never into more than this.
  const TileBlocks blocks = blocks_of(product);
  // A part of sequences has at most one block more than its terms need.
  const std::int64_t count = blocks.count() + 1;
  const std::int64_t chunk = std::min(count, kTileChunkBlocks), max_held = held_blocks(unit);
  const std::int64_t columns = std::min(ceil_div(product.n, kTilePanel), max_held);
  const std::int64_t held = std::min(columns * chunk, std::max(max_held, chunk));
  const bool in_scratch = keeps_sums(product) && count > kTileChunkBlocks;
  const std::int64_t sums =
      in_scratch ? kSumPanels * (max_held / kTileChunkBlocks) * kTilePanel * kTilePanel * 4 : 0;
  return threads * ((held + chunk) * kTileBlockBytes + sums);
}

void run_tile_product(const WidenedProductOn<Bf16>& p, const Scratch& scratch, TileUnit unit) {
  const int threads = team_size();
  const TileDivision d = division_of(p, threads, unit);
  if (p.offset % kTileDepth != 0 ||
      scratch.part_bytes(threads) < TileScratch(d, keeps_sums(p)).bytes()) {
    throw InternalError("a tile product without its scratch, or from the midst of a block");
  }
  TaskShares shares(d.task_count(), threads, threads);
  const TileTasks tasks{p, d, shares, scratch, threads};
  const auto work = unit == TileUnit::kAmx ? work_on_amx : work_on_avx512_bf16;
  if (works_alone()) return work(tasks, 0);
#pragma omp parallel num_threads(threads)
  work(tasks, omp_get_thread_num());
}

}  // namespace snug::cpu
