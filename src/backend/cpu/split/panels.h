// Operands of a product as AMX takes them: each float as three bfloat16 whose sum it is, in panels
// of 32 rows (of A) or columns (of B), 32 terms of the contraction at a time.
//
// x = x0 + x1 + x2 exactly: eight bits each, x0 the nearest bfloat16 to x, x1 the nearest to the
// rest. Of the nine products of two such floats, six are added; the other three are together below
// 2^-24 of the product, as much as rounding it to float may cost (docs/decisions/0012).
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug::cpu {

constexpr std::int64_t kPanelWidth = 32;  // rows of A, columns of B
constexpr std::int64_t kBlockDepth = 32;  // terms of the contraction in one block of a panel
constexpr std::int64_t kPieces = 3;
constexpr std::int64_t kPanelBlockBytes = kPanelWidth * kBlockDepth * kPieces * 2;

// A matrix whose line i is contracted over k: element (i, k) is data[i * stride + k], or, with k
// along the stride, data[k * stride + i].
struct Lines {
  const float* data;
  std::int64_t stride;
  bool k_along_stride = false;
  std::int64_t terms =
      0;  // of k, all there are: with k along the stride the next are fetched ahead
};

// A panel of A, aligned to 64 bytes: lines [first, first + count), at most 32, of terms
// [k, k + depth). What is missing of its last block is zero.
void pack_a(const Lines& a, std::int64_t first, std::int64_t count, std::int64_t k,
            std::int64_t depth, std::byte* panel) noexcept;
// One block of a panel of B over the same, with depth at most 32.
void pack_b(const Lines& b, std::int64_t first, std::int64_t count, std::int64_t k,
            std::int64_t depth, std::byte* block) noexcept;

// Where a product of two panels goes: the upper left rows x columns of it.
struct PanelTarget {
  float* c;
  std::int64_t stride, rows, columns;
  bool add;           // to what is there
  const float* bias;  // one per column, or null; not with add
};

// Panels are multiplied while one of these lives on the calling thread.
class TileRegisters {
 public:
  TileRegisters() noexcept;
  ~TileRegisters();
  TileRegisters(const TileRegisters&) = delete;
  TileRegisters& operator=(const TileRegisters&) = delete;
};
void multiply_panels(const std::byte* a, const std::byte* b, std::int64_t blocks,
                     const PanelTarget& target) noexcept;

}  // namespace snug::cpu
