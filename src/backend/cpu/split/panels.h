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

// A matrix whose line i is contracted over k. Element (i, k) is data[i * stride + k], or
// data[k * stride + i] if k_along_stride.
struct Lines {
  const float* data;
  std::int64_t stride;
  bool k_along_stride = false;
  std::int64_t terms = 0;  // of k; if k_along_stride, the next ones are prefetched
};

enum class Operand : std::uint8_t { kA, kB };

// One block of a panel that is to be packed: lines [first, first + count), terms [k, k + depth), at
// most 32 of each. What is missing becomes zero.
struct PanelBlock {
  Operand operand;
  Lines lines;
  std::int64_t first, count, k, depth;
  std::byte* to;  // kPanelBlockBytes, aligned to 64
};
void pack(const PanelBlock& block) noexcept;

// A block as it is packed: rows of 32 floats, which are the lines of A or the terms of B.
struct PackingSource {
  const float* x;
  std::int64_t stride, rows;
  std::uint16_t lanes[2];  // one bit per lane that exists, for the two halves of a row
  bool is_whole;           // all rows and lanes exist
};

// Blocks that are packed line by line while panels are multiplied: AMX leaves the vector units
// idle.
class PackingQueue {
 public:
  static constexpr std::int64_t kMaxBlocks = 24;

  // The queue must be empty, or only added to since it was.
  void add(const PanelBlock& block) noexcept { blocks_[count_++] = block; }
  // Spreads most of the packing over the next multiplications of a block of A with one of B.
  void spread_over(std::int64_t multiplications) noexcept;
  // Packs what is not packed yet, after which the queue is empty.
  void finish() noexcept;

 private:
  friend struct PackingSteps;

  std::array<PanelBlock, static_cast<std::size_t>(kMaxBlocks)> blocks_;
  std::size_t count_ = 0, block_ = 0;
  std::int64_t line_ = 0, lines_per_gap_ = 0;
  PackingSource source_{};  // of the block under way
  alignas(64) std::array<float, kPanelWidth * kBlockDepth> transposed_;
};

// Where the product of two panels is written: its upper left rows x columns.
struct PanelTarget {
  float* c;
  std::int64_t stride, rows, columns;
  bool add;           // to what is there
  const float* bias;  // one per column, or null; not with add
};

// Configures AMX's tiles for the calling thread; panels can be multiplied only while one exists.
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
