// Op: one step of a program, whatever its definition, and what every op can be asked. A new op is
// a definition and its place in AnyOp; what follows here then knows it.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "ops/attention.h"
#include "ops/elementwise.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/shapes.h"
#include "ops/storage.h"
#include "ops/update.h"

namespace snug::ops {

using AnyOp = std::variant<Zero, ResetEmbedRows, Embed, EmbedBackward, MergeEmbedRows, LayerNorm,
                           LayerNormApply, LayerNormBackward, Linear, LinearDx, LinearDw, Gelu,
                           GeluBackward, Attention, AttentionBackward, AttentionDecode, KvStore,
                           ResidualAdd, DropoutBackward, CrossEntropy, GradientNorm, AdamW, Cast,
                           CheckpointWrite, CheckpointRead, Copy>;

// Which op it is, without its operands: an index for tables of rows and rates.
using OpKind = std::size_t;
constexpr OpKind kOpKindCount = std::variant_size_v<AnyOp>;
template <class Definition>
constexpr OpKind kind_of() {
  return AnyOp(std::in_place_type<Definition>).index();
}

struct Op {
  std::string label;  // "h.11.mlp.c_fc backward", as reports name it
  AnyOp definition;
  std::int64_t scratch_bytes = 0;  // booked by the plan, granted at bind, kept for this op only

  OpKind kind() const { return definition.index(); }
  template <class Definition>
  bool is() const {
    return std::holds_alternative<Definition>(definition);
  }
  // Null for another op.
  template <class Definition>
  const Definition* as() const {
    return std::get_if<Definition>(&definition);
  }
};

std::string_view name_of(OpKind kind);
inline std::string_view name_of(const Op& op) { return name_of(op.kind()); }

// visit(name, id, access), see for_each_operand of a definition.
template <class Visit>
void for_each_operand(const Op& op, Visit&& visit) {
  std::visit([&](const auto& definition) { for_each_operand(definition, visit); }, op.definition);
}

std::string_view missing_operand(const Op& op);

// The type that decides which kernel runs; nothing for ops on plain bytes.
std::optional<DType> precision_of(const Op& op, const Shapes& shapes);

// What an op does in all its rows.
struct Work {
  double flops = 0;           // of products and attention; elementwise arithmetic counts as traffic
  double bytes = 0;           // tensors read and written once each
  double starts = 1;          // ops of a loop start once per chunk
  DType dtype = DType::kF32;  // of the arithmetic
};
Work work_of(const Op& op, const Shapes& shapes);

}  // namespace snug::ops
