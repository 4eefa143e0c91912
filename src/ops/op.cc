#include "ops/op.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace snug::ops {
namespace {

template <std::size_t... kinds>
constexpr std::array<std::string_view, kOpKindCount> names(std::index_sequence<kinds...>) {
  return {std::variant_alternative_t<kinds, AnyOp>::kName...};
}

// Every operand once, one that is updated twice.
double operand_traffic(const Op& op, const Shapes& shapes) {
  double bytes = 0;
  for_each_operand(op, [&](std::string_view, TensorId id, Access access) {
    bytes += shapes.bytes(id) * (access == Access::kUpdate ? 2 : 1);
  });
  return bytes;
}

bool has_a_row_per_token(const Shape& shape, std::int64_t row_count) {
  if (shape.rank() == 0) return row_count == 1;
  return shape[0] == row_count || (shape.rank() > 1 && shape[0] * shape[1] == row_count);
}

// A chunk goes through its own rows of what has one per token, and through all of the rest.
double traffic_in_loop(const Op& op, const Shapes& shapes, double chunks) {
  double bytes = 0;
  for_each_operand(op, [&](std::string_view, TensorId id, Access access) {
    const bool by_rows = has_a_row_per_token(shapes.shape(id), shapes.row_count());
    bytes += shapes.bytes(id) * (access == Access::kUpdate ? 2 : 1) * (by_rows ? 1 : chunks);
  });
  return bytes;
}

}  // namespace

std::int64_t RowLoop::chunk_end(std::int64_t first, std::int64_t T, std::int64_t total_rows) const {
  const std::int64_t last = std::min(first + chunk_rows, total_rows);
  return last == total_rows ? last : last - last % T % tile_rows;
}

std::string_view name_of(OpKind kind) {
  static constexpr auto kNames = names(std::make_index_sequence<kOpKindCount>());
  return kNames[kind];
}

std::string_view missing_operand(const Op& op) {
  return std::visit([](const auto& definition) { return missing_operand(definition); },
                    op.definition);
}

std::optional<DType> precision_of(const Op& op, const Shapes& shapes) {
  return std::visit(
      [&](const auto& definition) -> std::optional<DType> {
        using Definition = std::remove_cvref_t<decltype(definition)>;
        if constexpr (requires { Definition::kPrecision; }) {
          return shapes.tensor(definition.*Definition::kPrecision).dtype;
        } else {
          return std::nullopt;
        }
      },
      op.definition);
}

Work work_of(const Op& op, const Shapes& shapes) {
  Work work;
  std::visit(
      [&](const auto& definition) {
        if constexpr (requires { definition.arithmetic(shapes); }) {
          work.flops = definition.arithmetic(shapes);
          work.dtype = *precision_of(op, shapes);
        }
        if constexpr (requires { definition.traffic(shapes); }) {
          work.bytes = definition.traffic(shapes);
        } else {
          work.bytes = operand_traffic(op, shapes);
        }
      },
      op.definition);
  if (shapes.loop != nullptr) {
    work.starts = std::ceil(static_cast<double>(shapes.row_count()) /
                            static_cast<double>(shapes.loop->chunk_rows));
    work.bytes = traffic_in_loop(op, shapes, work.starts);
  }
  return work;
}

}  // namespace snug::ops
