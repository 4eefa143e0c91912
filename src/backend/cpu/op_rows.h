// One row per op and precision that the CPU runs: the scratch it needs, how it is prepared when a
// program is bound, how it runs. A new op of the CPU is a row here and its kernels.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "backend/cpu/gemm.h"
#include "backend/op_table.h"
#include "program/program.h"

namespace snug::cpu {

struct OpRun;  // op_run.h

// An op of a program, asked about before it runs.
struct OpQuestion {
  const ops::Op& op;
  const ops::Shapes& shapes;
  int threads;
  GemmCache& gemms;  // the program's products, each described once
};

using backend::Prepared;

struct OpRow {
  ops::OpKind kind;
  std::optional<DType> precision;                           // see ops::precision_of
  std::int64_t (*scratch)(const OpQuestion&);               // bytes; null: none
  std::unique_ptr<Prepared> (*prepare)(const OpQuestion&);  // null: nothing to prepare
  bool runs_in_chunks;        // honours OpRun's rows, as a loop over row chunks asks
  void (*run)(const OpRun&);  // allocates nothing
};

std::span<const OpRow> op_rows();

// Throws InternalError naming op and precision where the CPU has no kernel for it.
const OpRow& row_of(const ops::Op& op, const ops::Shapes& shapes);

}  // namespace snug::cpu
