// Operands of a product as AMX takes them: each float as three bfloat16 whose sum it is, in panels
// of 32 rows (of A) or columns (of B), 32 terms of the contraction at a time.
//
// x = x0 + x1 + x2 exactly: eight bits each, x0 the nearest bfloat16 to x, x1 the nearest to the
// rest. Of the nine products of two such floats, six are added; the other three are together below
// 2^-24 of the product, as much as rounding it to float may cost (docs/decisions/0012).
#pragma once

#include <array>
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
  std::int64_t terms = 0;  // of k; with k along the stride the next ones are fetched ahead
};

enum class Operand : std::uint8_t { kA, kB };

// One block of a panel, to be packed: lines [first, first + count) of terms [k, k + depth), at most
// 32 of each. What is missing becomes zero.
struct PanelBlock {
  Operand operand;
  Lines lines;
  std::int64_t first, count, k, depth;
  std::byte* to;  // kPanelBlockBytes, aligned to 64
};
void pack(const PanelBlock& block) noexcept;

// A block as it is packed: rows of 32 floats, of A its lines, of B its terms.
struct PackingSource {
  const float* x;
  std::int64_t stride, rows;
  std::uint16_t lanes[2];  // that are there of a row's two halves, a bit each
  bool is_whole;           // all rows and lanes are there
};

// Blocks that are packed line by line while panels are multiplied: AMX leaves the vector units
// idle.
class PackingQueue {
 public:
  static constexpr std::int64_t kMostBlocks = 24;

  // Into an empty queue, or one that has only been added to.
  void add(const PanelBlock& block) noexcept { blocks_[count_++] = block; }
  // Most of it, a part in each of the next so many multiplications of a block of A with one of B.
  void spread_over(std::int64_t multiplications) noexcept;
  // What is not packed yet; the queue is empty then.
  void finish() noexcept;

 private:
  friend struct PackingSteps;

  std::array<PanelBlock, static_cast<std::size_t>(kMostBlocks)> blocks_;
  std::size_t count_ = 0, block_ = 0;
  std::int64_t line_ = 0, lines_per_gap_ = 0;
  PackingSource source_{};  // of the block under way
  alignas(64) std::array<float, kPanelWidth * kBlockDepth> transposed_;
};

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
                     const PanelTarget& target, PackingQueue& queue) noexcept;

}  // namespace snug::cpu
