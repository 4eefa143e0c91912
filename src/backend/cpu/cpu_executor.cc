#include "backend/cpu/cpu_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backend/cpu/bandwidth.h"
#include "backend/cpu/gemm_peak.h"
#include "backend/cpu/op_run.h"
#include "backend/cpu/threads.h"
#include "backend/phase_walk.h"
#include "base/error.h"

namespace snug::cpu {
CpuExecutor::CpuExecutor(const program::Program& program, const plan::Plan& plan,
                         const KernelTable& kernels)
    : program_(program),
      plan_(plan),
      kernels_(kernels),
      threads_(program.threads > 0 ? program.threads : thread_count(0)),
      arena_(plan.arena_bytes),
      gemms_(threads_) {
  const ThreadCountScope scope(threads_);
  for (const plan::SharedArena& shared : plan.shared_arenas) {
    shared_arenas_.push_back(std::make_unique<Arena>(shared.byte_count));
  }
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor& tensor = program.tensors[t];
    const std::int64_t offset = plan.tensor_offset[t];
    views_.push_back({offset < 0 ? nullptr : arena_in(tensor.space).data() + offset, tensor.dtype,
                      tensor.shape});
  }
  for (std::size_t p = 0; p < program.phases.size(); ++p) {
    auto& of_phase = bound_.emplace_back();
    for (std::size_t o = 0; o < program.phases[p].ops.size(); ++o) of_phase.push_back(bind(p, o));
  }
}

CpuExecutor::BoundOp CpuExecutor::bind(std::size_t phase, std::size_t op) {
  const program::Phase& of_phase = program_.phases[phase];
  const ops::Op& what = of_phase.ops[op];
  BoundOp bound;
  bound.shapes = program::shapes_of(program_, of_phase, op);
  const OpRow& row = row_of(what, bound.shapes);
  if (bound.shapes.loop != nullptr && !row.runs_in_chunks) {
    throw InternalError(fmt::format("the cpu backend has no kernel for '{}' in a loop ({})",
                                    ops::name_of(what), what.label));
  }
  const OpQuestion question{what, bound.shapes, threads_, gemms_};
  if (row.scratch != nullptr && row.scratch(question) > what.scratch_bytes) {
    throw InternalError(fmt::format("'{}' needs more scratch than was planned", what.label));
  }
  bound.run = row.run;
  if (row.prepare != nullptr) bound.prepared = row.prepare(question);
  if (const plan::ScratchPlace& place = plan_.scratch[phase][op]; place.byte_count > 0) {
    bound.scratch = {arena_.data() + place.offset, place.byte_count};
  }
  return bound;
}

const Arena& CpuExecutor::arena_in(Space space) const {
  for (std::size_t i = 0; i < shared_arenas_.size(); ++i) {
    if (plan_.shared_arenas[i].space == space) return *shared_arenas_[i];
  }
  return arena_;
}

TensorView CpuExecutor::view(TensorId id) const {
  const TensorView& view = views_[static_cast<std::size_t>(id)];
  if (view.data == nullptr) {
    throw InternalError(fmt::format("'{}' has no place in the plan", program_.tensor(id).name));
  }
  return view;
}

void CpuExecutor::run_op(std::size_t phase, std::size_t op, const backend::StepContext& context,
                         std::int64_t first_row, std::int64_t end_row) {
  const program::Phase& of_phase = program_.phases[phase];
  const ops::Op& what = of_phase.ops[op];
  if (observer_) observer_(of_phase, what, first_row, end_row);
  const double start = timing_ != nullptr ? timing_->seconds() : 0;
  const BoundOp& bound = bound_[phase][op];
  bound.run({*this, what, bound.shapes, context, bound.scratch, bound.prepared.get(), threads_,
             first_row, end_row});
  if (timing_ == nullptr) return;
  timing_->ops.push_back(
      {&of_phase, &what, end_row - first_row, start, timing_->seconds() - start});
}

void CpuExecutor::write(TensorId id, std::int64_t offset, std::span<const std::byte> bytes) {
  std::memcpy(this->bytes(id, offset, std::ssize(bytes)), bytes.data(), bytes.size());
}

void CpuExecutor::read(TensorId id, std::int64_t offset, std::span<std::byte> bytes) {
  std::memcpy(bytes.data(), this->bytes(id, offset, std::ssize(bytes)), bytes.size());
}

std::byte* CpuExecutor::bytes(TensorId id, std::int64_t offset, std::int64_t byte_count) const {
  const TensorView of_tensor = view(id);
  if (offset < 0 || byte_count > of_tensor.byte_count() - offset) {
    throw InternalError(fmt::format("bytes {} to {} of '{}', which has {}", offset,
                                    offset + byte_count, program_.tensor(id).name,
                                    of_tensor.byte_count()));
  }
  return of_tensor.data + offset;
}

double CpuExecutor::measure_byte_rate() {
  const ThreadCountScope scope(threads_);
  return measure_bandwidth(arena_);
}

std::vector<backend::TimedOp> CpuExecutor::time_ops(const std::function<void()>& work) {
  Timing timing;
  struct Watch {
    Timing*& watched;
    ~Watch() { watched = nullptr; }
  } const watch{timing_ = &timing};
  work();
  return std::move(timing.ops);
}

double CpuExecutor::measure_peak_flops() {
  const ThreadCountScope scope(threads_);
  return measure_gemm_peak(arena_, program_.tensor(program_.compute_weights.front()).dtype);
}

void CpuExecutor::run_one(const program::Phase& phase, std::size_t op,
                          const backend::StepContext& context, std::int64_t first_row,
                          std::int64_t end_row) {
  const ThreadCountScope scope(threads_);
  run_op(backend::index_of(program_, phase), op, context, first_row, end_row);
}

void CpuExecutor::run(const program::Phase& phase, const backend::StepContext& context) {
  const ThreadCountScope scope(threads_);
  const std::size_t p = backend::index_of(program_, phase);
  backend::walk_phase(phase, context, [&](std::size_t op, const backend::RowRange& rows) {
    run_op(p, op, context, rows.first, rows.end);
  });
}

}  // namespace snug::cpu
