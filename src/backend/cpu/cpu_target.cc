#include "backend/cpu/cpu_target.h"

#include <algorithm>
#include <dnnl.hpp>
#include <set>

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/linear_shapes.h"
#include "base/bytes.h"

namespace snug::cpu {
namespace {

// What a process takes outside the arena, as address space, so that a hard limit of any kind that
// is equal to the total holds (tests/proof_test.cc). Most of it never becomes resident: 12 MiB do
// on two threads with AVX-512. Seen: 48 MiB for libraries and heap on one thread, 2.6 MiB for each
// further thread (its stack is 2 MiB), and oneDNN reserves 256 KiB for every kernel that it writes,
// 0.7 to 1.6 MiB per product; half a MiB where it does not write one per shape.
constexpr std::int64_t kProcessBytes = 52 * kMiB;
constexpr std::int64_t kPerThreadBytes = 3 * kMiB;
constexpr std::int64_t kPerProductBytes = 2 * kMiB;
constexpr std::int64_t kPerSharedProductBytes = kMiB / 2;
constexpr std::int64_t kPerOpBytes = 4 * kKiB;
// Without AVX-512, oneDNN 2.6 packs operands into memory of its own: up to 6 MiB per thread seen
// with AVX2; before AVX2, whole operands.
constexpr std::int64_t kPackingPerThreadBytes = 10 * kMiB;
constexpr std::int64_t kOldPackingPerThreadBytes = 32 * kMiB;  // before AVX2

bool has_avx2() {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  return (isa & dnnl_cpu_isa_avx2) == dnnl_cpu_isa_avx2;
}

template <typename Visit>
void for_each_product(GemmCache& gemms, const Program& program, const Phase& phase, const Op& op,
                      int threads, const Visit& visit) {
  const LinearTiling tiling = linear_tiling(op, phase.block_size, threads);
  for_each_tile(0, phase.block_size, phase.block_size, tiling.tile_rows,
                [&](std::int64_t, std::int64_t rows) {
                  visit(gemms.get(linear_shape(program, op, rows, tiling.one_thread)));
                });
}

// What oneDNN takes by itself while the product runs.
std::int64_t packing_bytes(const Gemm& gemm, int threads) {
  if (!gemm.packs_in_its_own_memory()) return 0;
  if (has_avx2()) return threads * kPackingPerThreadBytes;
  const GemmShape& shape = gemm.shape();
  const std::int64_t operands = (shape.m * shape.k + shape.k * shape.n) * size_of(DType::kF32);
  const std::int64_t copies = shape.one_thread ? threads : 1;
  return threads * kOldPackingPerThreadBytes + copies * operands;
}

std::set<const Gemm*> products_of(GemmCache& gemms, const Program& program, int threads) {
  std::set<const Gemm*> products;
  for (const Phase& phase : program.phases) {
    for (const Op& op : phase.ops) {
      if (!is_linear(op.kind) || is_split(op, phase.block_size)) continue;
      for_each_product(gemms, program, phase, op, threads,
                       [&](const Gemm& gemm) { products.insert(&gemm); });
    }
  }
  return products;
}

std::int64_t linear_scratch(GemmCache& gemms, const Program& program, const Phase& phase,
                            const Op& op, int threads) {
  if (is_split(op, phase.block_size)) return planned_split_scratch(program, phase, op, threads);
  std::int64_t most = 0;
  for_each_product(gemms, program, phase, op, threads, [&](const Gemm& gemm) {
    most = std::max(most, gemm.scratch_bytes() * (gemm.shape().one_thread ? threads : 1));
  });
  return most;
}

std::int64_t norm_scratch(const Program& program, const Op& op) {
  std::int64_t most = 0;
  for (const TensorId id : op.reads) {
    most = std::max(most, program.tensor(id).shape.element_count());
  }
  return (most + kSquareBlock - 1) / kSquareBlock * static_cast<std::int64_t>(sizeof(double));
}

}  // namespace

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
    case OpKind::kLayerNormBackward:  // a sequence's share of dgamma and dbeta
      return checked_mul(checked_mul(phase.batch_size, program.tensor(op.reads[2]).shape[0]),
                         2 * size_of(DType::kF32));
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
  std::int64_t ops = 0, kernels = 0, packing = 0;
  for (const Phase& phase : program.phases) ops += static_cast<std::int64_t>(phase.ops.size());
  for (const Gemm* gemm : products_of(gemms_, program, threads_)) {
    kernels += gemm->packs_in_its_own_memory() ? kPerSharedProductBytes : kPerProductBytes;
    packing = std::max(packing, packing_bytes(*gemm, threads_));
  }
  return kProcessBytes + threads_ * kPerThreadBytes + ops * kPerOpBytes + kernels + packing;
}

}  // namespace snug::cpu
