#include "backend/cpu/cpu_executor.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstring>

#include "backend/cpu/gemm_peak.h"
#include "backend/cpu/op_run.h"
#include "backend/cpu/threads.h"
#include "base/error.h"

namespace snug::cpu {
namespace {

// The tensors' own bytes, without staging.
class ArenaBytes : public TensorBytes {
 public:
  using Find = std::function<std::byte*(TensorId, std::int64_t offset, std::int64_t byte_count)>;
  explicit ArenaBytes(Find find) : find_(std::move(find)) {}

  std::span<const std::byte> get(TensorId id, std::int64_t offset,
                                 std::int64_t byte_count) override {
    return {find_(id, offset, byte_count), static_cast<std::size_t>(byte_count)};
  }
  void put(TensorId id, std::int64_t offset, std::int64_t byte_count, const Fill& fill) override {
    fill({find_(id, offset, byte_count), static_cast<std::size_t>(byte_count)});
  }

 private:
  Find find_;
};

void require_scratch(const Op& op, std::int64_t bytes) {
  if (bytes <= op.scratch_bytes) return;
  throw InternalError(fmt::format("'{}' needs more scratch than was planned", op.label));
}

}  // namespace

CpuExecutor::CpuExecutor(const Program& program, const Plan& plan, const KernelTable& kernels)
    : program_(program),
      plan_(plan),
      kernels_(kernels),
      threads_(program.threads > 0 ? program.threads : thread_count(0)),
      arena_(plan.arena_bytes),
      gemms_(threads_) {
  const ThreadCountScope scope(threads_);
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
      of_phase[o] = prepare_linear(phase, op);
    }
  }
}

LinearCalls CpuExecutor::prepare_linear(const Phase& phase, const Op& op) {
  const std::int64_t T = phase.block_size;
  const int threads = threads_;
  LinearCalls calls;
  calls.split = is_split(op, T);
  if (calls.split) {
    require_scratch(op, planned_split_scratch(program_, phase, op, threads));
    return calls;
  }
  calls.tiling = linear_tiling(op, T, threads);
  std::int64_t scratch_bytes = 0;  // of one product
  for_each_tile(0, T, T, calls.tiling.tile_rows, [&](std::int64_t row, std::int64_t rows) {
    Gemm& gemm = gemms_.get(linear_shape(program_, op, rows, calls.tiling.one_thread));
    gemm.prepare(calls.tiling.one_thread ? threads : 1);
    (row == 0 ? calls.whole : calls.last) = &gemm;
    scratch_bytes = std::max(scratch_bytes, gemm.scratch_bytes());
  });
  require_scratch(op, scratch_bytes * (calls.tiling.one_thread ? threads : 1));
  return calls;
}

TensorView CpuExecutor::view(TensorId id) const {
  const TensorView& view = views_[static_cast<std::size_t>(id)];
  if (view.data == nullptr) {
    throw InternalError(fmt::format("'{}' has no place in the plan", program_.tensor(id).name));
  }
  return view;
}

void CpuExecutor::run_op(std::size_t phase, std::size_t op, const StepContext& context,
                         std::int64_t first_row, std::int64_t end_row) {
  const Phase& of_phase = program_.phases[phase];
  const Op& what = of_phase.ops[op];
  if (observer_) observer_(of_phase, what, first_row, end_row);
  if (context.transfer != nullptr &&
      (what.kind == OpKind::kCheckpointRead || what.kind == OpKind::kCheckpointWrite)) {
    ArenaBytes bytes([this](TensorId id, std::int64_t offset, std::int64_t byte_count) {
      return place(id, offset, byte_count);
    });
    (*context.transfer)(bytes);
    return;
  }
  Scratch scratch;
  if (const ScratchPlace& place = plan_.scratch[phase][op]; place.byte_count > 0) {
    scratch = {arena_.data() + place.offset, place.byte_count};
  }
  op_function(what)(
      {*this, of_phase, what, context, scratch, linear_calls_[phase][op], first_row, end_row});
}

void CpuExecutor::write(TensorId id, std::int64_t offset, std::span<const std::byte> bytes) {
  std::memcpy(place(id, offset, std::ssize(bytes)), bytes.data(), bytes.size());
}

void CpuExecutor::read(TensorId id, std::int64_t offset, std::span<std::byte> bytes) {
  std::memcpy(bytes.data(), place(id, offset, std::ssize(bytes)), bytes.size());
}

std::byte* CpuExecutor::place(TensorId id, std::int64_t offset, std::int64_t byte_count) const {
  const TensorView of_tensor = view(id);
  if (offset < 0 || byte_count > of_tensor.byte_count() - offset) {
    throw InternalError(fmt::format("bytes {} to {} of '{}', which has {}", offset,
                                    offset + byte_count, program_.tensor(id).name,
                                    of_tensor.byte_count()));
  }
  return of_tensor.data + offset;
}

double CpuExecutor::measure_peak_flops() {
  const ThreadCountScope scope(threads_);
  return measure_gemm_peak(arena_);
}

void CpuExecutor::run(const Phase& phase, const StepContext& context) {
  const ThreadCountScope scope(threads_);
  const auto p = static_cast<std::size_t>(&phase - program_.phases.data());
  const std::int64_t rows = context.sequence_count * phase.block_size;
  for (std::size_t o = 0; o < phase.ops.size();) {
    const Op& op = phase.ops[o];
    if (op.row_from_context) {
      const std::int64_t row = phase.block_size > 1 ? context.position : 0;
      run_op(p, o++, context, row, row + 1);
    } else if (op.chunk_rows == 0) {
      run_op(p, o++, context, 0, rows);
    } else {
      std::size_t end = o;
      while (end < phase.ops.size() && phase.ops[end].chunk_rows == op.chunk_rows) ++end;
      for (std::int64_t row = 0; row < rows;) {
        const std::int64_t next = chunk_end(op, phase.block_size, row, rows);
        for (std::size_t i = o; i < end; ++i) run_op(p, i, context, row, next);
        row = next;
      }
      o = end;
    }
  }
}

}  // namespace snug::cpu
