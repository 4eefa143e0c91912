// Which products a linear op consists of, how they are prepared and started.
//
// A product spans all rows of a training batch: how a micro-batch is split may change what cuBLASLt
// chooses, and with it rounding. In the loss head's loop it spans a tile of a sequence, in
// evaluation and prefill a sequence, so that neither chunks nor evaluation sizes change a bit.
#pragma once

#include "backend/cuda/op_rows.h"

namespace snug::cuda {

std::unique_ptr<Prepared> prepare_linear(const OpQuestion& question);

void run_linear(const OpRun& r, const ops::Linear& op);
void run_linear_dx(const OpRun& r, const ops::LinearDx& op);
void run_linear_dw(const OpRun& r, const ops::LinearDw& op);

}  // namespace snug::cuda
