// Token and position embedding. The gradient of the token embedding is kept apart from the loss
// head's share of the same weight (docs/decisions/0003): rows of it go to a compact table, one row
// per token that the iteration has seen, in order of first appearance.
#pragma once

#include "ops/operand.h"

namespace snug::ops {

struct Shapes;

struct Embed {
  static constexpr std::string_view kName = "embed";

  Read tokens;                         // (B, T) int32
  Read wte;                            // (V, C)
  Read wpe;                            // (block_size, C)
  Write x;                             // (B, T, C) = dropout(wte[token] + wpe[position])
  std::uint32_t dropout_site = 0;      // 0: no dropout here
  bool position_from_context = false;  // the first position is StepContext::position (sampling)

  static constexpr auto kPrecision = &Embed::x;
  static constexpr auto operands() {
    return std::tuple{NamedOperand{"tokens", &Embed::tokens}, NamedOperand{"wte", &Embed::wte},
                      NamedOperand{"wpe", &Embed::wpe}, NamedOperand{"x", &Embed::x}};
  }
  double traffic(const Shapes& shapes) const;
};

// The compact table of an iteration.
struct EmbedRows {
  TensorId rows = kNoTensor;       // (capacity, C) float32
  TensorId slot = kNoTensor;       // (V) int32: a token's row, -1 for none yet
  TensorId row_token = kNoTensor;  // (capacity) int32: a row's token
  TensorId row_count = kNoTensor;  // (1) int32: rows in use
};

struct ResetEmbedRows {
  static constexpr std::string_view kName = "reset_embed_rows";

  Write slot, row_count, rows;

  static constexpr auto kPrecision = &ResetEmbedRows::rows;
  static constexpr auto operands() {
    return std::tuple{NamedOperand{"slot", &ResetEmbedRows::slot},
                      NamedOperand{"row_count", &ResetEmbedRows::row_count},
                      NamedOperand{"rows", &ResetEmbedRows::rows}};
  }
};

struct EmbedBackward {
  static constexpr std::string_view kName = "embed_backward";

  Read tokens;                              // (B, T) int32
  Update dx;                                // (B, T, C), the dropout mask is applied to it in place
  Update dwpe;                              // (block_size, C), added to
  Update rows, slot, row_token, row_count;  // as in EmbedRows
  std::uint32_t dropout_site = 0;

  static constexpr auto kPrecision = &EmbedBackward::dx;
  static constexpr auto operands() {
    return std::tuple{NamedOperand{"tokens", &EmbedBackward::tokens},
                      NamedOperand{"dx", &EmbedBackward::dx},
                      NamedOperand{"dwpe", &EmbedBackward::dwpe},
                      NamedOperand{"rows", &EmbedBackward::rows},
                      NamedOperand{"slot", &EmbedBackward::slot},
                      NamedOperand{"row_token", &EmbedBackward::row_token},
                      NamedOperand{"row_count", &EmbedBackward::row_count}};
  }
  double traffic(const Shapes& shapes) const;
};

// The table's rows are added to the dense gradient.
struct MergeEmbedRows {
  static constexpr std::string_view kName = "merge_embed_rows";

  Read rows, row_token, row_count;  // as in EmbedRows
  Update dwte;                      // (V, C)

  static constexpr auto kPrecision = &MergeEmbedRows::rows;
  static constexpr auto operands() {
    return std::tuple{NamedOperand{"rows", &MergeEmbedRows::rows},
                      NamedOperand{"row_token", &MergeEmbedRows::row_token},
                      NamedOperand{"row_count", &MergeEmbedRows::row_count},
                      NamedOperand{"dwte", &MergeEmbedRows::dwte}};
  }
  double traffic(const Shapes& shapes) const;
};

}  // namespace snug::ops
