#include "backend/cpu/cpu_executor.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>

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
      of_phase[o] = prepare_linear(op, phase.block_size);
    }
  }
}

LinearCalls CpuExecutor::prepare_linear(const Op& op, std::int64_t T) {
  const int threads = omp_get_max_threads();
  LinearCalls calls;
  calls.tiling = linear_tiling(op, T, threads);
  for_each_tile(0, T, T, calls.tiling.tile_rows, [&](std::int64_t row, std::int64_t rows) {
    Gemm& gemm = gemms_.get(linear_shape(program_, op, rows, calls.tiling.one_thread));
    gemm.prepare(calls.tiling.one_thread ? threads : 1);
    (row == 0 ? calls.whole : calls.last) = &gemm;
    calls.scratch_bytes = std::max(calls.scratch_bytes, gemm.scratch_bytes());
  });
  return calls;
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
