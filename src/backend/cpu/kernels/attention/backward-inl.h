// Attention's backward pass for one target: which tiles in which order, on which thread. The order
// of every sum is fixed here.

#if defined(SNUG_BACKEND_CPU_KERNELS_ATTENTION_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_BACKEND_CPU_KERNELS_ATTENTION_BACKWARD_INL_H_
#undef SNUG_BACKEND_CPU_KERNELS_ATTENTION_BACKWARD_INL_H_
#else
#define SNUG_BACKEND_CPU_KERNELS_ATTENTION_BACKWARD_INL_H_
#endif

#include <hwy/highway.h>
#include <omp.h>

#include <algorithm>

#include "backend/cpu/kernels/any_precision.h"
#include "backend/cpu/kernels/attention/backward_tile-inl.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/task_shares.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

template <class X>
HWY_INLINE void write_rows(const float* from, std::int64_t padded_D, const Rows<X>& shape, X* to) {
  for (std::int64_t r = 0; r < shape.count; ++r)
    write_row(from + r * padded_D, 1.0f, shape.D, to + r * shape.stride);
}

// Loops over key tiles and, inside, over query tiles, both in rising order. Every gradient is
// summed in this order however the tiles are divided into tasks, so the division changes no bit.
template <class X>
HWY_INLINE void run_task(const AttentionBackwardOn<X>& a, const HeadTask& task,
                         const HeadArrays& head, const TileArrays& t) {
  const std::int64_t T = a.T, C = a.C, D = C / a.H, stride = head.padded_D;
  const std::int64_t head_start = task.b * T * 3 * C + task.h * D;
  const X* qkv = a.qkv + head_start;
  X* dqkv = a.dqkv + head_start;
  for (std::int64_t key_tile = task.first_key_tile; key_tile < task.last_key_tile; ++key_tile) {
    const std::int64_t k0 = key_tile * kKeyTile;
    const Rows<X> keys{qkv + k0 * 3 * C + C, 3 * C, std::min(kKeyTile, T - k0), D};
    const Rows<X> values{keys.data + C, 3 * C, keys.count, D};
    pack_panels<kColumns>(keys, 1.0f, t.key_panels);
    pack_panels<kColumns>(values, 1.0f, t.value_panels);
    if (task.want_dquery) pack_rows(keys, softmax_scale(D), stride, t.key_rows);
    if (task.want_dkeys) {
      std::fill_n(t.dkeys, kKeyTile * stride, 0.0f);
      std::fill_n(t.dvalues, kKeyTile * stride, 0.0f);
    }
    std::int64_t query_tile = std::max(task.first_query_tile, k0 / kQueryTile);
    for (; query_tile < task.last_query_tile; ++query_tile) {
      const std::int64_t i0 = query_tile * kQueryTile, rows = std::min(kQueryTile, T - i0);
      backward_tile(a, task, {i0, rows, k0}, head, t);
      if (task.want_dquery && k0 + kKeyTile >= i0 + rows)
        write_rows(head.dquery + i0 * stride, stride, Rows<X>{nullptr, 3 * C, rows, D},
                   dqkv + i0 * 3 * C);
    }
    if (task.want_dkeys) {
      write_rows(t.dkeys, stride, keys, dqkv + k0 * 3 * C + C);
      write_rows(t.dvalues, stride, values, dqkv + k0 * 3 * C + 2 * C);
    }
  }
}

// With enough heads a task is a head, with five products per tile. With fewer than half as many
// heads as threads, dkeys and dvalues are divided by key tiles and dquery by query tiles; each
// recomputes scores and dP, which makes seven products. A head's packed arrays are then made first,
// by all threads together, and lie in the scratch of one thread.
template <class X>
HWY_INLINE void attention_backward_of(const AttentionBackwardOn<X>& a) {
  const std::int64_t T = a.T, D = a.C / a.H, heads = a.B * a.H;
  const std::int64_t query_tiles = ceil_div(T, kQueryTile);
  const std::int64_t key_tiles = ceil_div(T, kKeyTile);
  const BackwardHeadLayout head_layout(T, D);
  const BackwardTileLayout tile_layout(D);
  const int threads = omp_get_max_threads();
  const auto scratch_in = [&](std::int64_t slot) {
    return line_in(a.scratch.part(static_cast<int>(slot), threads));
  };
  const auto head_in = [&](std::int64_t slot) { return HeadArrays(head_layout, scratch_in(slot)); };
  const auto tiles_of_thread = [&] {
    return TileArrays(tile_layout, scratch_in(omp_get_thread_num()) + head_layout.floats);
  };

  if (2 * heads > threads || works_alone()) {
    share_tasks(heads, [&](std::int64_t n) {
      const std::int64_t b = n / a.H, h = n % a.H;
      const HeadArrays head = head_in(omp_get_thread_num());
      const TileArrays tiles = tiles_of_thread();
      for (std::int64_t i = 0; i < query_tiles; ++i) pack_query_tile(a, b, h, i * kQueryTile, head);
      run_task(a, {b, h, true, true, 0, key_tiles, 0, query_tiles}, head, tiles);
    });
    return;
  }
  // Bodies of their own: what a compiler outlines of a parallel region need not have the
  // instruction set of the function around it (clang's has not).
  const auto pack_part = [&](std::int64_t n) HWY_ATTR {
    const std::int64_t slot = n / query_tiles;
    pack_query_tile(a, slot / a.H, slot % a.H, n % query_tiles * kQueryTile, head_in(slot));
  };
  // The tasks with the most products first: dkeys' first key tiles, then dquery's last query tiles.
  const auto run_part = [&](std::int64_t n, const TileArrays& tiles) HWY_ATTR {
    const std::int64_t slot = n % heads, part = n / heads, b = slot / a.H, h = slot % a.H;
    const HeadArrays head = head_in(slot);
    if (part < key_tiles) {
      return run_task(a, {b, h, false, true, part, part + 1, 0, query_tiles}, head, tiles);
    }
    constexpr std::int64_t kRatio = kKeyTile / kQueryTile;
    const std::int64_t key_tile = 2 * key_tiles - 1 - part;
    run_task(a,
             {b, h, true, false, 0, key_tile + 1, key_tile * kRatio,
              std::min((key_tile + 1) * kRatio, query_tiles)},
             head, tiles);
  };
#pragma omp parallel num_threads(threads)
  {
    const TileArrays tiles = tiles_of_thread();
#pragma omp for schedule(static)
    for (std::int64_t n = 0; n < heads * query_tiles; ++n) pack_part(n);
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t n = 0; n < heads * 2 * key_tiles; ++n) run_part(n, tiles);
  }
}

void attention_backward_target(AnyPrecision<AttentionBackwardOn> any) {
  std::visit([](const auto* a) HWY_ATTR { attention_backward_of(*a); }, any);
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SNUG_BACKEND_CPU_KERNELS_ATTENTION_BACKWARD_INL_H_
