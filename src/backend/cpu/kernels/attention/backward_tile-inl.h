// One tile of attention's backward pass for one target. With P the probabilities recomputed from
// lse, M the dropout multipliers and delta = rowsum(dout * out):
//   dV = (P M)^T dO     dP = M (dO V^T)     dS = P (dP - delta)     dQ = dS K s     dK = dS^T Q s
// s = 1 / sqrt(D) is folded into the packed K and Q rows, the dropout scale into the packed dO.

#if defined(SNUG_BACKEND_CPU_KERNELS_ATTENTION_BACKWARD_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_BACKEND_CPU_KERNELS_ATTENTION_BACKWARD_TILE_INL_H_
#undef SNUG_BACKEND_CPU_KERNELS_ATTENTION_BACKWARD_TILE_INL_H_
#else
#define SNUG_BACKEND_CPU_KERNELS_ATTENTION_BACKWARD_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "backend/cpu/kernels/attention/tiles-inl.h"
#include "backend/cpu/kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

// One head's query-side arrays, shapes in BackwardHeadLayout.
struct HeadArrays {
  std::int64_t padded_D;
  float *query_panels, *dout_panels, *query_rows, *dout_rows, *dquery, *lse, *delta;

  HeadArrays(const BackwardHeadLayout& layout, float* base)
      : padded_D(layout.padded_D),
        query_panels(base + layout.query_panels),
        dout_panels(base + layout.dout_panels),
        query_rows(base + layout.query_rows),
        dout_rows(base + layout.dout_rows),
        dquery(base + layout.dquery),
        lse(base + layout.lse),
        delta(base + layout.delta) {}
};

// One thread's tiles, shapes in BackwardTileLayout.
struct TileArrays {
  float *key_panels, *value_panels, *key_rows, *dkeys, *dvalues, *probabilities, *dscores;

  TileArrays(const BackwardTileLayout& layout, float* base)
      : key_panels(base + layout.key_panels),
        value_panels(base + layout.value_panels),
        key_rows(base + layout.key_rows),
        dkeys(base + layout.dkeys),
        dvalues(base + layout.dvalues),
        probabilities(base + layout.probabilities),
        dscores(base + layout.dscores) {}
};

// Which head, and which gradients of it this task computes over which tiles.
struct HeadTask {
  std::int64_t b, h;
  bool want_dquery, want_dkeys;  // dkeys: dvalues too
  std::int64_t first_key_tile, last_key_tile;
  std::int64_t first_query_tile, last_query_tile;
};

HWY_INLINE float softmax_scale(std::int64_t D) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(D)));
}

// Packs query tile [i0, ..) of the head: q and dout both as panels and as rows, lse and delta.
template <class X>
HWY_INLINE void pack_query_tile(const AttentionBackwardOn<X>& a, std::int64_t b, std::int64_t h,
                                std::int64_t i0, const HeadArrays& head) {
  const std::int64_t T = a.T, C = a.C, D = C / a.H, rows = std::min(kQueryTile, T - i0);
  const float scale = softmax_scale(D);
  const float dropout_scale = HeadDropout(a.dropout, b, h, T).scale();
  const Rows<X> query{a.qkv + (b * T + i0) * 3 * C + h * D, 3 * C, rows, D};
  const Rows<X> dout{a.dout + (b * T + i0) * C + h * D, C, rows, D};
  pack_panels<kRows>(query,
                     static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(D))),
                     head.query_panels + i0 * D);
  pack_panels<kRows>(dout, dropout_scale, head.dout_panels + i0 * D);
  pack_rows(query, scale, head.padded_D, head.query_rows + i0 * head.padded_D);
  pack_rows(dout, dropout_scale, head.padded_D, head.dout_rows + i0 * head.padded_D);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t i = i0 + r;
    head.lse[i] = a.lse[(b * a.H + h) * T + i] * std::numbers::log2e_v<float>;
    head.delta[i] = dot_row(dout.data + r * C, a.out + (b * T + i) * C + h * D, D);
  }
}

// Row r of the score tile becomes P M and of the dP tile becomes dS, zero where masked, in every
// column that a block of keys or queries containing the row multiplies.
template <bool kMasked, bool kDropout>
HWY_INLINE void gradient_row(const Tile& tile, std::int64_t r, const HeadDropout& dropout,
                             const HeadArrays& head, const TileArrays& t) {
  const FloatTag d;
  const std::int64_t visible = tile.visible(r);
  const std::int64_t end =
      kMasked ? std::min(kKeyTile, round_up(visible + kRows - 1, kColumns)) : kKeyTile;
  const FloatVec lse = hn::Set(d, head.lse[tile.i0 + r]);
  const FloatVec delta = hn::Set(d, head.delta[tile.i0 + r]);
  float* HWY_RESTRICT p_row = t.probabilities + r * kKeyTile;
  float* HWY_RESTRICT ds_row = t.dscores + r * kKeyTile;
  for (std::int64_t j = 0; j < end; j += kColumns) {
    hn::Mask<FloatTag> keep[2];
    if constexpr (kDropout)
      keep_pair(d, dropout.stream, dropout.element(tile.i0 + r, tile.k0 + j), keep[0], keep[1]);
#pragma GCC unroll 2
    for (int n = 0; n < 2; ++n) {
      const std::int64_t column = j + n * kLanes;
      FloatVec p = exp2_vector(hn::Sub(hn::Load(d, p_row + column), lse));
      FloatVec dp = hn::Load(d, ds_row + column);
      FloatVec kept_p = p;
      if constexpr (kDropout) {
        kept_p = hn::IfThenElseZero(keep[n], p);
        dp = hn::IfThenElseZero(keep[n], dp);
      }
      FloatVec ds = hn::Mul(p, hn::Sub(dp, delta));
      if constexpr (kMasked) {
        const auto shown =
            hn::FirstN(d, static_cast<std::size_t>(std::max<std::int64_t>(visible - column, 0)));
        kept_p = hn::IfThenElseZero(shown, kept_p);
        ds = hn::IfThenElseZero(shown, ds);
      }
      hn::Store(kept_p, d, p_row + column);
      hn::Store(ds, d, ds_row + column);
    }
  }
}

template <bool kDropout>
HWY_NOINLINE void gradient_tile(const Tile& tile, const HeadDropout& dropout,
                                const HeadArrays& head, const TileArrays& t) {
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    if (tile.visible(r) == kKeyTile) {
      gradient_row<false, kDropout>(tile, r, dropout, head, t);
    } else {
      gradient_row<true, kDropout>(tile, r, dropout, head, t);
    }
  }
}

// to (keys, D) += left^T right, left (kQueryTile, kKeyTile), right (rows, D). A block of keys
// starts at the first query that sees one of them.
HWY_INLINE void add_transposed_product(const Tile& tile, const float* left, const float* right,
                                       std::int64_t stride, std::int64_t width, float* to) {
  const std::int64_t keys = tile.visible(tile.rows - 1);
  for (std::int64_t column = 0; column < width; column += kColumns) {
    for (std::int64_t key = 0; key < keys; key += kRows) {
      const std::int64_t row = std::max<std::int64_t>(tile.k0 + key - tile.i0, 0);
      const Block block{.depth = tile.rows - row,
                        .a = left + row * kKeyTile + key,
                        .b = right + row * stride,
                        .b_stride = stride,
                        .c = to + key * stride,
                        .c_stride = stride};
      multiply_columns<1, kKeyTile, Write::kAdd>(block, column, width);
    }
  }
}

// dquery (rows, D) of the tile = or += dS K.
template <Write kWrite>
HWY_INLINE void multiply_dquery(const Tile& tile, const HeadArrays& head, const TileArrays& t,
                                std::int64_t width) {
  const std::int64_t stride = head.padded_D;
  for (std::int64_t column = 0; column < width; column += kColumns) {
    for (std::int64_t row = 0; row < tile.rows; row += kRows) {
      const Block block{.depth = tile.visible_to_block(row),
                        .a = t.dscores + row * kKeyTile,
                        .b = t.key_rows,
                        .b_stride = stride,
                        .c = head.dquery + (tile.i0 + row) * stride,
                        .c_stride = stride};
      multiply_columns<kKeyTile, 1, kWrite>(block, column, width);
    }
  }
}

// One query tile against the packed key tile.
template <class X>
HWY_INLINE void backward_tile(const AttentionBackwardOn<X>& a, const HeadTask& task,
                              const Tile& tile, const HeadArrays& head, const TileArrays& t) {
  const std::int64_t D = a.C / a.H, width = round_up(D, kLanes), stride = head.padded_D;
  const HeadDropout dropout(a.dropout, task.b, task.h, a.T);
  multiply_scores(tile, head.query_panels + tile.i0 * D, t.key_panels, D, t.probabilities);
  multiply_scores(tile, head.dout_panels + tile.i0 * D, t.value_panels, D, t.dscores);
  dropout.on() ? gradient_tile<true>(tile, dropout, head, t)
               : gradient_tile<false>(tile, dropout, head, t);
  if (task.want_dkeys) {
    add_transposed_product(tile, t.probabilities, head.dout_rows + tile.i0 * stride, stride, width,
                           t.dvalues);
    add_transposed_product(tile, t.dscores, head.query_rows + tile.i0 * stride, stride, width,
                           t.dkeys);
  }
  if (task.want_dquery) {
    tile.k0 == 0 ? multiply_dquery<Write::kReplace>(tile, head, t, width)
                 : multiply_dquery<Write::kAdd>(tile, head, t, width);
  }
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SNUG_BACKEND_CPU_KERNELS_ATTENTION_BACKWARD_TILE_INL_H_
