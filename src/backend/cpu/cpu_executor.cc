#include "backend/cpu/cpu_executor.h"

#include <fmt/format.h>

#include "backend/cpu/linear_shapes.h"
#include "backend/cpu/op_run.h"
#include "base/error.h"

namespace snug::cpu {
namespace {

bool is_linear(OpKind kind) {
  return kind == OpKind::kLinear || kind == OpKind::kLinearDx || kind == OpKind::kLinearDw;
}

}  // namespace

CpuExecutor::CpuExecutor(const Program& program, const Plan& plan, const KernelTable& kernels)
    : program_(program), plan_(plan), kernels_(kernels), arena_(plan.arena_bytes) {
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor& tensor = program.tensors[t];
    const std::int64_t offset = plan.tensor_offset[t];
    views_.push_back({offset < 0 ? nullptr : arena_.data() + offset, tensor.dtype, tensor.shape});
  }
  for (const Phase& phase : program.phases) {
    auto& of_phase = linear_calls_.emplace_back(phase.ops.size());
    for (std::size_t o = 0; o < phase.ops.size(); ++o) {
      const Op& op = phase.ops[o];
      op_function(op);
      if (!is_linear(op.kind)) continue;
      const std::int64_t T = phase.block_size;
      for_each_tile(0, T, T, op.tile_rows, [&](std::int64_t, std::int64_t rows) {
        for (const LinearCall& call : of_phase[o]) {
          if (call.rows == rows) return;
        }
        Gemm& gemm = gemms_.get(linear_shape(program, op, rows));
        gemm.prepare();
        of_phase[o].push_back({rows, &gemm});
      });
    }
  }
}

TensorView CpuExecutor::view(TensorId id) const {
  const TensorView& view = views_[static_cast<std::size_t>(id)];
  if (view.data == nullptr) {
    throw InternalError(fmt::format("'{}' has no place in the plan", program_.tensor(id).name));
  }
  return view;
}

void CpuExecutor::run(const Phase& phase, const StepContext& context) {
  const auto p = static_cast<std::size_t>(&phase - program_.phases.data());
  for (std::size_t o = 0; o < phase.ops.size(); ++o) {
    const Op& op = phase.ops[o];
    if (observer_) observer_(phase, op);
    const std::int64_t offset = plan_.scratch_offset[p][o];
    std::byte* scratch = offset < 0 ? nullptr : arena_.data() + offset;
    op_function(op)({*this, phase, op, context, scratch, linear_calls_[p][o]});
  }
}

}  // namespace snug::cpu
