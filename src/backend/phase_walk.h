// The order in which every backend runs the ops of a phase, and the rows that each works on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/backend.h"
#include "base/error.h"
#include "ops/linear.h"
#include "program/program.h"

namespace snug::backend {

struct RowRange {
  std::int64_t first, end;
};

// The rows of an op outside of loops: all that are in use, or the one that the context names.
inline RowRange rows_of(const ops::Op& op, const program::Phase& phase,
                        const StepContext& context) {
  const auto* linear = op.as<ops::Linear>();
  if (linear == nullptr || !linear->row_from_context) {
    return {0, context.sequence_count * phase.block_size};
  }
  const std::int64_t row = phase.block_size > 1 ? context.position : 0;
  return {row, row + 1};
}

// Calls run(index of the op, its rows) for every op, for those of a loop once per chunk of rows.
template <class Run>
void walk_phase(const program::Phase& phase, const StepContext& context, const Run& run) {
  const std::int64_t rows = context.sequence_count * phase.block_size;
  for (std::size_t op = 0; op < phase.ops.size();) {
    const ops::RowLoop* loop = phase.loop_of(op);
    if (loop == nullptr) {
      run(op, rows_of(phase.ops[op], phase, context));
      ++op;
      continue;
    }
    for (std::int64_t row = 0; row < rows;) {
      const std::int64_t next = loop->chunk_end(row, phase.block_size, rows);
      for (std::size_t i = loop->first_op; i < loop->end_op; ++i) run(i, RowRange{row, next});
      row = next;
    }
    op = loop->end_op;
  }
}

// Throws InternalError for a phase of another program.
inline std::size_t index_of(const program::Program& program, const program::Phase& phase) {
  const auto index = static_cast<std::size_t>(&phase - program.phases.data());
  if (index >= program.phases.size()) throw InternalError("a phase of another program");
  return index;
}

}  // namespace snug::backend
