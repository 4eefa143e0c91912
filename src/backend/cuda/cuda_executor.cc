#include "backend/cuda/cuda_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backend/cuda/errors.h"
#include "backend/cuda/op_run.h"
#include "backend/cuda/peak_flops.h"
#include "backend/cuda/scratch.h"
#include "backend/phase_walk.h"
#include "base/error.h"

namespace snug::cuda {
namespace {

// What the kernels cannot hold is refused by name before anything runs.
void require_supported(const ops::Op& op, const ops::Shapes& shapes) {
  const auto refuse = [&](std::string_view what, std::int64_t is, std::int64_t max) {
    throw DeviceError(
        fmt::format("'{}' has {} {}, the kernels for cards hold at most {}\n"
                    "train on the processor with --device=cpu",
                    op.label, what, is, max));
  };
  if (const auto* attention = op.as<ops::Attention>()) {
    const std::int64_t size = shapes.width(attention->out) / attention->head_count;
    if (size > kMaxHead) refuse("heads of", size, kMaxHead);
  }
  if (const auto* norm = op.as<ops::LayerNorm>(); norm && shapes.width(norm->x) > kMaxWidth) {
    refuse("rows of", shapes.width(norm->x), kMaxWidth);
  }
}

}  // namespace

CudaExecutor::CudaExecutor(const program::Program& program, const plan::Plan& plan,
                           const ExecutorSettings& settings)
    : program_(program),
      plan_(plan),
      settings_(settings),
      arena_(CudaArena::Memory::kCard, plan.arena_bytes),
      gemms_(settings.tf32),
      started_(program) {
  if (const std::int64_t bytes = plan.arena_bytes_in(Space::kPinned); bytes > 0) {
    pinned_.emplace(CudaArena::Memory::kPinned, bytes);
  }
  for (std::size_t p = 0; p < program.phases.size(); ++p) {
    auto& of_phase = bound_.emplace_back();
    const program::Phase& phase = program.phases[p];
    for (std::size_t o = 0; o < phase.ops.size(); ++o) of_phase.push_back(bind(phase, p, o));
    bind_together(p);
  }
}

std::unique_ptr<Prepared> CudaExecutor::prepare(const OpRow& row, const OpQuestion& question,
                                                std::string& refusal) {
  try {
    require_supported(question.op, question.shapes);
    return row.prepare == nullptr ? nullptr : row.prepare(question);
  } catch (const DeviceError& error) {
    if (!settings_.refuses_late) throw;
    refusal = error.what();
    return nullptr;
  }
}

CudaExecutor::BoundOp CudaExecutor::bind(const program::Phase& phase, std::size_t p,
                                         std::size_t op) {
  const ops::Op& what = phase.ops[op];
  BoundOp bound;
  bound.shapes = program::shapes_of(program_, phase, op);
  const OpRow& row = row_of(what, bound.shapes);
  if (bound.shapes.loop != nullptr && !row.runs_in_chunks) {
    throw InternalError(fmt::format("the cuda backend has no kernel for '{}' in a loop ({})",
                                    ops::name_of(what), what.label));
  }
  const plan::ScratchPlace& place = plan_.scratch[p][op];
  if (scratch_of(what, bound.shapes) > place.byte_count) {
    throw InternalError(fmt::format("'{}' needs more scratch than was planned", what.label));
  }
  if (place.byte_count > 0) {
    bound.scratch = {arena_.data() + place.offset, static_cast<std::size_t>(place.byte_count)};
  }
  bound.run = row.run;
  bound.prepared = prepare(row, {what, bound.shapes, phase, gemms_}, bound.refusal);
  if (const auto* copy = what.as<ops::Copy>()) {
    for (const TensorId id : {copy->from.id, copy->to.id}) {
      if (program_.tensor(id).space != plan_.space) host_tensors_.push_back({id, p, Event(), 0});
    }
  }
  return bound;
}

// A residual addition and the norm of its result are one pass, unless the plan has put what the
// norm writes where the addition still reads.
void CudaExecutor::bind_together(std::size_t phase) {
  const std::vector<ops::Op>& all = program_.phases[phase].ops;
  for (std::size_t o = 0; o + 1 < all.size(); ++o) {
    const auto* add = all[o].as<ops::ResidualAdd>();
    const auto* norm = all[o + 1].as<ops::LayerNorm>();
    if (add == nullptr || norm == nullptr || norm->x != add->out) continue;
    bool apart = true;
    for (const TensorId written : {norm->y.id, norm->mean.id, norm->rstd.id}) {
      apart = apart && !share_bytes(written, add->residual) && !share_bytes(written, add->branch);
    }
    bound_[phase][o].runs_with_next = bound_[phase][o + 1].ran_with_previous = apart;
  }
}

bool CudaExecutor::share_bytes(TensorId a, TensorId b) const {
  const auto begin = [&](TensorId id) { return plan_.tensor_offset[static_cast<std::size_t>(id)]; };
  const auto end = [&](TensorId id) { return begin(id) + program_.tensor(id).byte_count(); };
  return begin(a) < end(b) && begin(b) < end(a);
}

std::byte* CudaExecutor::address(TensorId id) const {
  if (id == kNoTensor) return nullptr;
  const std::int64_t offset = plan_.tensor_offset[static_cast<std::size_t>(id)];
  if (offset < 0) {
    throw InternalError(fmt::format("'{}' has no place in the plan", program_.tensor(id).name));
  }
  const bool on_card = program_.tensor(id).space == plan_.space;
  return (on_card ? arena_.data() : pinned_->data()) + offset;
}

void CudaExecutor::run_op(std::size_t phase, std::size_t op, const backend::StepContext& context,
                          std::int64_t first_row, std::int64_t end_row) {
  const program::Phase& of_phase = program_.phases[phase];
  const ops::Op& what = of_phase.ops[op];
  const BoundOp& bound = bound_[phase][op];
  if (!bound.ran_with_previous) {
    const ops::Op* next = bound.runs_with_next ? &of_phase.ops[op + 1] : nullptr;
    started_.add(of_phase, what);
    if (start_observer_) start_observer_(what, next, bound.scratch, first_row);
    if (!bound.refusal.empty()) throw DeviceError(bound.refusal);
    try {
      bound.run({*this, what, bound.shapes, context, bound.scratch.data(), bound.prepared.get(),
                 first_row, end_row, next});
    } catch (const DeviceError& error) {
      // A call that fails after the context has ended tells nothing about itself; a library's call
      // leaves nothing in our runtime's last error, so that the stream is asked.
      if (const cudaError_t ended = cudaStreamQuery(stream()); ends_context(ended)) {
        require_done(ended);
      }
      throw DeviceError(fmt::format("{}\nin {}", error.what(), started_.describe_last()));
    }
    require_done(cudaGetLastError());
  }
  if (observer_) observer_(of_phase, what, first_row, end_row);
}

void CudaExecutor::run(const program::Phase& phase, const backend::StepContext& context) {
  const std::size_t p = backend::index_of(program_, phase);
  backend::walk_phase(phase, context, [&](std::size_t op, const backend::RowRange& rows) {
    run_op(p, op, context, rows.first, rows.end);
  });
}

void CudaExecutor::run_one(const program::Phase& phase, std::size_t op,
                           const backend::StepContext& context, std::int64_t first_row,
                           std::int64_t end_row) {
  run_op(backend::index_of(program_, phase), op, context, first_row, end_row);
}

void CudaExecutor::require_done(cudaError_t result) const {
  if (result == cudaSuccess) return;
  // A launch that is refused is the last one; else any that is under way can be meant.
  const bool is_late = ends_context(result);
  std::string where = is_late ? started_.describe() : started_.describe_last();
  if (where.empty()) where = "a copy between the host and the card";
  if (is_late && !started_.are_one_by_one()) {
    where +=
        "\nwith CUDA_LAUNCH_BLOCKING=1 in the environment the same run names the op and its "
        "tensors";
  }
  require(result, where);
}

void CudaExecutor::wait() {
  require_done(cudaStreamSynchronize(stream()));
  started_.done_until(started_.last());
}

double CudaExecutor::measure_peak_flops() {
  wait();
  return cuda::measure_peak_flops(arena_, program_, settings_.tf32, stream());
}

}  // namespace snug::cuda
