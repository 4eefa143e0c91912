// One row per op and precision that a card runs: how it is prepared when a program is bound, how it
// is started. Its scratch is in scratch.h, which planning asks without a card.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "backend/cuda/gemm_cache.h"
#include "backend/op_table.h"
#include "program/program.h"

namespace snug::cuda {

struct OpRun;  // op_run.h

// An op of a program, asked about before it runs.
struct OpQuestion {
  const ops::Op& op;
  const ops::Shapes& shapes;
  const program::Phase& phase;
  GemmCache& gemms;  // the program's products, each described once
};

using backend::Prepared;

struct OpRow {
  ops::OpKind kind;
  std::optional<DType> precision;                           // see ops::precision_of
  std::unique_ptr<Prepared> (*prepare)(const OpQuestion&);  // null: nothing to prepare
  bool runs_in_chunks;        // honours OpRun's rows, as a loop over row chunks asks
  void (*run)(const OpRun&);  // starts the work; allocates nothing
};

std::span<const OpRow> op_rows();

// Throws InternalError naming op and precision where there is no kernel for it.
const OpRow& row_of(const ops::Op& op, const ops::Shapes& shapes);

}  // namespace snug::cuda
