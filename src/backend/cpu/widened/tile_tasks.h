// A tile product as tasks that threads share, and what the units make of them. Internal to tile
// products.
#pragma once

#include "backend/cpu/scratch.h"
#include "backend/cpu/widened/tile_division.h"
#include "backend/cpu/widened/widened_product.h"

namespace snug::cpu {

inline bool is_weight_gradient(const WidenedProductOn<Bf16>& p) { return p.accumulate; }
// Between chunks of the contraction, in scratch: where the result is 16 bits wide.
inline bool keeps_sums(const WidenedProductOn<Bf16>& p) { return !is_weight_gradient(p); }

inline TileBlocks blocks_of(const WidenedProductOn<Bf16>& p) {
  return {p.k, p.sequence > 0 ? p.sequence : p.k, p.offset};
}

// One thread's scratch: B's blocks, a panel of A, sums between chunks.
struct TileScratch {
  std::int64_t held, panel, sums;

  TileScratch(const TileDivision& d, bool with_sums)
      : held(d.columns_per_task * d.chunk_blocks() * kTileBlockBytes),
        panel(d.chunk_blocks() * kTileBlockBytes),
        sums(with_sums && d.chunks() > 1
                 ? d.rows_per_task * d.columns_per_task * kTilePanel * kTilePanel * 4
                 : 0) {}
  std::int64_t bytes() const { return held + panel + sums; }
};

struct TileTasks {
  const WidenedProductOn<Bf16>& product;
  const TileDivision& division;
  TaskShares& shares;
  Scratch scratch;
  int threads;

  std::byte* scratch_of(int thread) const { return scratch.part(thread, threads); }
};

// The calling thread's share, and of the others' what is left. Only where the processor has the
// unit.
void work_on_amx(const TileTasks& tasks, int thread);
void work_on_avx512_bf16(const TileTasks& tasks, int thread);

}  // namespace snug::cpu
