// Attention's forward pass for one target: query tiles over key tiles with an online softmax.
// Scores are kept in units of log 2, so exp is exp2.

#if defined(SNUG_BACKEND_CPU_KERNELS_ATTENTION_FORWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_BACKEND_CPU_KERNELS_ATTENTION_FORWARD_INL_H_
#undef SNUG_BACKEND_CPU_KERNELS_ATTENTION_FORWARD_INL_H_
#else
#define SNUG_BACKEND_CPU_KERNELS_ATTENTION_FORWARD_INL_H_
#endif

#include <hwy/highway.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "backend/cpu/kernels/any_precision.h"
#include "backend/cpu/kernels/attention/tiles-inl.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/task_shares.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

// One thread's arrays, shapes in ForwardLayout.
struct ForwardScratch {
  std::int64_t padded_D;
  float *keys, *values, *queries, *scores, *sums, *totals, *maxima, *rescale;

  ForwardScratch(const ForwardLayout& layout, float* base)
      : padded_D(layout.padded_D),
        keys(base + layout.keys),
        values(base + layout.values),
        queries(base + layout.queries),
        scores(base + layout.scores),
        sums(base + layout.sums),
        totals(base + layout.totals),
        maxima(base + layout.maxima),
        rescale(base + layout.rescale) {}
};

// Scores of row r become probabilities relative to the running maximum, zero where masked or
// dropped, in all columns that the row's block multiplies. The total is taken before dropout.
template <bool kMasked, bool kDropout>
HWY_INLINE void softmax_row(const Tile& tile, std::int64_t r, const HeadDropout& dropout,
                            const ForwardScratch& s) {
  const FloatTag d;
  const std::int64_t visible = tile.visible(r);
  const std::int64_t end =
      kMasked ? round_up(tile.visible_to_block(r / kRows * kRows), kColumns) : kKeyTile;
  float* HWY_RESTRICT row = s.scores + r * kKeyTile;
  const auto shown = [visible](std::int64_t j) HWY_ATTR {
    return hn::FirstN(FloatTag(), static_cast<std::size_t>(std::max<std::int64_t>(visible - j, 0)));
  };

  const FloatVec lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  FloatVec top0 = lowest, top1 = lowest;
  for (std::int64_t j = 0; j < end; j += kColumns) {
    FloatVec x0 = hn::Load(d, row + j), x1 = hn::Load(d, row + j + kLanes);
    if constexpr (kMasked) {
      x0 = hn::IfThenElse(shown(j), x0, lowest);
      x1 = hn::IfThenElse(shown(j + kLanes), x1, lowest);
      hn::Store(x0, d, row + j);
      hn::Store(x1, d, row + j + kLanes);
    }
    top0 = hn::Max(top0, x0);
    top1 = hn::Max(top1, x1);
  }
  const FloatVec old_top = hn::Set(d, s.maxima[r]);
  const FloatVec top = hn::Max(old_top, hn::MaxOfLanes(d, hn::Max(top0, top1)));

  FloatVec total0 = hn::Zero(d), total1 = hn::Zero(d);
  for (std::int64_t j = 0; j < end; j += kColumns) {
    FloatVec p0 = exp2_vector(hn::Sub(hn::Load(d, row + j), top));
    FloatVec p1 = exp2_vector(hn::Sub(hn::Load(d, row + j + kLanes), top));
    total0 = hn::Add(total0, p0);
    total1 = hn::Add(total1, p1);
    if constexpr (kDropout) {
      hn::Mask<FloatTag> keep0, keep1;
      keep_pair(d, dropout.stream, dropout.element(tile.i0 + r, tile.k0 + j), keep0, keep1);
      p0 = hn::IfThenElseZero(keep0, p0);
      p1 = hn::IfThenElseZero(keep1, p1);
    }
    hn::Store(p0, d, row + j);
    hn::Store(p1, d, row + j + kLanes);
  }
  const FloatVec rescale = exp2_vector(hn::Sub(old_top, top));
  float* totals = s.totals + r * kLanes;
  hn::Store(hn::MulAdd(hn::Load(d, totals), rescale, hn::Add(total0, total1)), d, totals);
  s.maxima[r] = hn::GetLane(top);
  s.rescale[r] = hn::GetLane(rescale);
}

template <bool kDropout>
HWY_NOINLINE void softmax_tile(const Tile& tile, const HeadDropout& dropout,
                               const ForwardScratch& s) {
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    if (tile.visible(r) == kKeyTile) {
      softmax_row<false, kDropout>(tile, r, dropout, s);
    } else {
      softmax_row<true, kDropout>(tile, r, dropout, s);
    }
  }
}

// sums (rows, D) = diag(rescale) sums + probabilities * values of this tile.
template <Write kWrite>
HWY_INLINE void multiply_values(const Tile& tile, const ForwardScratch& s, std::int64_t width) {
  for (std::int64_t column = 0; column < width; column += kColumns) {
    for (std::int64_t row = 0; row < tile.rows; row += kRows) {
      const Block block{.depth = tile.visible_to_block(row),
                        .a = s.scores + row * kKeyTile,
                        .b = s.values + tile.k0 * s.padded_D,
                        .b_stride = s.padded_D,
                        .c = s.sums + row * s.padded_D,
                        .c_stride = s.padded_D,
                        .c_scale = s.rescale + row};
      multiply_columns<kKeyTile, 1, kWrite>(block, column, width);
    }
  }
}

// Queries [i0, i0 + kQueryTile) of head h of sequence b; keys and values are packed already.
template <class X>
HWY_INLINE void forward_query_tile(const AttentionOn<X>& a, std::int64_t b, std::int64_t h,
                                   std::int64_t i0, const ForwardScratch& s) {
  const std::int64_t T = a.T, C = a.C, D = C / a.H, width = round_up(D, kLanes);
  const std::int64_t rows = std::min(kQueryTile, T - i0);
  const HeadDropout dropout(a.dropout, b, h, T);
  const double scale = std::numbers::log2e / std::sqrt(static_cast<double>(D));
  pack_panels<kRows>(Rows<X>{a.qkv + (b * T + i0) * 3 * C + h * D, 3 * C, rows, D},
                     static_cast<float>(scale), s.queries);
  std::fill_n(s.totals, kQueryTile * kLanes, 0.0f);
  std::fill_n(s.rescale, kQueryTile, 0.0f);
  std::fill_n(s.maxima, kQueryTile, -std::numeric_limits<float>::infinity());
  for (std::int64_t k0 = 0; k0 < i0 + rows; k0 += kKeyTile) {
    const Tile tile{i0, rows, k0};
    multiply_scores(tile, s.queries, s.keys + k0 * D, D, s.scores);
    dropout.on() ? softmax_tile<true>(tile, dropout, s) : softmax_tile<false>(tile, dropout, s);
    k0 == 0 ? multiply_values<Write::kReplace>(tile, s, width)
            : multiply_values<Write::kRescaleAdd>(tile, s, width);
  }
  const FloatTag d;
  for (std::int64_t r = 0; r < rows; ++r) {
    const float total = hn::GetLane(hn::SumOfLanes(d, hn::Load(d, s.totals + r * kLanes)));
    write_row(s.sums + r * s.padded_D, dropout.scale() / total, D,
              a.out + (b * T + i0 + r) * C + h * D);
    if (a.lse == nullptr) continue;
    a.lse[(b * a.H + h) * T + i0 + r] = s.maxima[r] * std::numbers::ln2_v<float> + std::log(total);
  }
}

// A task is a run of query tiles of one head and packs the keys it needs. A head is one task when
// there are enough heads; how it is cut changes no bit, since query tiles are independent.
template <class X>
HWY_INLINE void attention_of(const AttentionOn<X>& a) {
  const std::int64_t T = a.T, C = a.C, D = C / a.H, heads = a.B * a.H;
  const std::int64_t tiles = ceil_div(T, kQueryTile);
  const ForwardLayout layout(T, D);
  const int threads = omp_get_max_threads();
  // Four tasks per thread: threads with short tasks of the causal triangle then take over others.
  const std::int64_t cuts = std::clamp<std::int64_t>(4 * threads / heads, 1, tiles);
  const auto run_task = [&](std::int64_t task) {
    const ForwardScratch s(layout, line_in(a.scratch.part(omp_get_thread_num(), threads)));
    const std::int64_t cut = task % cuts, b = task / cuts / a.H, h = task / cuts % a.H;
    const std::int64_t first = cut * tiles / cuts, last = (cut + 1) * tiles / cuts;
    const X* qkv = a.qkv + b * T * 3 * C + h * D;
    const std::int64_t keys = std::min(T, last * kQueryTile);
    pack_panels<kColumns>(Rows<X>{qkv + C, 3 * C, keys, D}, 1.0f, s.keys);
    pack_rows(Rows<X>{qkv + 2 * C, 3 * C, keys, D}, 1.0f, layout.padded_D, s.values);
    for (std::int64_t tile = first; tile < last; ++tile)
      forward_query_tile(a, b, h, tile * kQueryTile, s);
  };
  share_tasks(heads * cuts, run_task);
}

void attention_target(AnyPrecision<AttentionOn> any) {
  std::visit([](const auto* a) HWY_ATTR { attention_of(*a); }, any);
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SNUG_BACKEND_CPU_KERNELS_ATTENTION_FORWARD_INL_H_
