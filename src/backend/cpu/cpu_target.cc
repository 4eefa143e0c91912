#include "backend/cpu/cpu_target.h"

#include <omp.h>

#include <algorithm>
#include <dnnl.hpp>

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/linear_shapes.h"
#include "base/bytes.h"

namespace snug::cpu {
namespace {

// Seen outside the arena: 12 MiB on two threads with AVX-512, where oneDNN's workspaces are ours.
// tests/cli_memory_test.cc holds the sum to be an upper bound.
constexpr std::int64_t kProcessBytes = 24 * kMiB;
constexpr std::int64_t kPerThreadBytes = kMiB;
constexpr std::int64_t kPerOpBytes = 4 * kKiB;
// Without AVX-512, oneDNN 2.6 packs operands into memory of its own: up to 6 MiB per thread seen
// with AVX2; before AVX2, whole operands.
constexpr std::int64_t kPackingPerThreadBytes = 10 * kMiB;
constexpr std::int64_t kOldPackingPerThreadBytes = 32 * kMiB;  // before AVX2

std::int64_t packing_bytes(const GemmCache& gemms, int threads) {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const bool blocked = (isa & dnnl_cpu_isa_avx2) == dnnl_cpu_isa_avx2;
  std::int64_t most = 0;
  for (const auto& [shape, gemm] : gemms.all()) {
    if (!gemm->packs_in_its_own_memory()) continue;
    const std::int64_t operands = (shape.m * shape.k + shape.k * shape.n) * size_of(DType::kF32);
    const std::int64_t copies = shape.one_thread ? threads : 1;
    most = std::max(most, blocked ? threads * kPackingPerThreadBytes
                                  : threads * kOldPackingPerThreadBytes + copies * operands);
  }
  return most;
}

std::int64_t linear_scratch(GemmCache& gemms, const Program& program, const Phase& phase,
                            const Op& op, int threads) {
  const LinearTiling tiling = linear_tiling(op, phase.block_size, threads);
  std::int64_t most = 0;
  for_each_tile(0, phase.block_size, phase.block_size, tiling.tile_rows,
                [&](std::int64_t, std::int64_t rows) {
                  const GemmShape shape = linear_shape(program, op, rows, tiling.one_thread);
                  most = std::max(most, gemms.get(shape).scratch_bytes());
                });
  return most * (tiling.one_thread ? threads : 1);
}

std::int64_t norm_scratch(const Program& program, const Op& op) {
  std::int64_t most = 0;
  for (const TensorId id : op.reads) {
    most = std::max(most, program.tensor(id).shape.element_count());
  }
  return (most + kSquareBlock - 1) / kSquareBlock * static_cast<std::int64_t>(sizeof(double));
}

}  // namespace

int use_threads(std::int64_t wanted) {
  const int threads = wanted > 0 ? static_cast<int>(wanted) : omp_get_num_procs();
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
  return threads;
}

std::int64_t CpuTarget::scratch_bytes(const Program& program, const Phase& phase,
                                      const Op& op) const {
  const auto head_width = [&](TensorId out) {
    return program.tensor(out).shape[2] / op.head_count;
  };
  switch (op.kind) {
    case OpKind::kLinear:
    case OpKind::kLinearDx:
    case OpKind::kLinearDw:
      return linear_scratch(gemms_, program, phase, op, threads_);
    case OpKind::kAttention:
      return attention_scratch_bytes(phase.block_size, head_width(op.writes[0]), threads_);
    case OpKind::kAttentionBackward:
      return attention_backward_scratch_bytes(phase.block_size, head_width(op.reads[1]), threads_);
    case OpKind::kAttentionDecode:  // one row of scores per head, over the whole cache
      return checked_mul(op.head_count * program.tensor(op.reads[1]).shape[0],
                         size_of(DType::kF32));
    case OpKind::kGradientNorm:
      return norm_scratch(program, op);
    default:
      return 0;
  }
}

std::int64_t CpuTarget::overhead_bytes(const Program& program) const {
  std::int64_t ops = 0;
  for (const Phase& phase : program.phases) ops += static_cast<std::int64_t>(phase.ops.size());
  return kProcessBytes + threads_ * kPerThreadBytes + ops * kPerOpBytes +
         packing_bytes(gemms_, threads_);
}

}  // namespace snug::cpu
