// What every backend's table of op rows has in common: joining its parts, and finding the row of an
// op. A Row has a kind and the precision that it is for (none: any).
#pragma once

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "ops/op.h"

namespace snug::backend {

// What an op prepares at bind and finds when it runs.
struct Prepared {
  virtual ~Prepared() = default;
};

template <class Row, std::size_t... counts>
constexpr auto joined_rows(const std::array<Row, counts>&... parts) {
  std::array<Row, (counts + ...)> all{};
  std::size_t next = 0;
  const auto append = [&](const auto& part) {
    for (const Row& row : part) all[next++] = row;
  };
  (append(parts), ...);
  return all;
}

// Throws InternalError naming backend, op and precision where there is no row.
template <class Rows>
const auto& row_of(const Rows& rows, const ops::Op& op, const ops::Shapes& shapes,
                   std::string_view backend) {
  const std::optional<DType> precision = ops::precision_of(op, shapes);
  for (const auto& row : rows) {
    if (row.kind == op.kind() && (!row.precision || row.precision == precision)) return row;
  }
  throw InternalError(fmt::format("the {} backend has no kernel for '{}' in {} ({})", backend,
                                  ops::name_of(op), precision ? name_of(*precision) : "bytes",
                                  op.label));
}

}  // namespace snug::backend
