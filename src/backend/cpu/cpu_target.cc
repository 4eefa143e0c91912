#include "backend/cpu/cpu_target.h"

#include <algorithm>
#include <dnnl.hpp>
#include <set>

#include "backend/cpu/linear.h"
#include "base/bytes.h"

namespace snug::cpu {
namespace {

// What a process takes outside the arena, as address space, so that a hard limit of any kind that
// is equal to the total holds (tests/proof_test.cc). Most of it never becomes resident: 12 MiB do
// on two threads with AVX-512. Seen: 58 MiB mapped before the first op, libzip's libcrypto and zstd
// among it, 2.6 MiB for each further thread (its stack is 2 MiB), and oneDNN reserves 256 KiB for
// every kernel that it writes, 0.7 to 1.6 MiB per product; half a MiB where it does not write one
// per shape.
constexpr std::int64_t kProcessBytes = 76 * kMiB;
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

// What oneDNN takes by itself while the product runs.
std::int64_t packing_bytes(const Gemm& gemm, int threads) {
  if (!gemm.packs_in_its_own_memory()) return 0;
  if (has_avx2()) return threads * kPackingPerThreadBytes;
  const GemmShape& shape = gemm.shape();
  const std::int64_t operands = (shape.m * shape.k + shape.k * shape.n) * size_of(DType::kF32);
  const std::int64_t copies = shape.one_thread ? threads : 1;
  return threads * kOldPackingPerThreadBytes + copies * operands;
}

std::set<const Gemm*> products_of(GemmCache& gemms, const program::Program& program, int threads) {
  std::set<const Gemm*> products;
  for (const program::Phase& phase : program.phases) {
    for (std::size_t o = 0; o < phase.ops.size(); ++o) {
      const auto form = linear_form(phase.ops[o], program::shapes_of(program, phase, o));
      if (!form || is_widened(*form, phase.block_size)) continue;
      if (is_split(*form, phase.block_size)) continue;
      for_each_gemm(gemms, *form, phase.block_size, threads,
                    [&](const Gemm& gemm, std::int64_t) { products.insert(&gemm); });
    }
  }
  return products;
}

}  // namespace

std::int64_t CpuTarget::scratch_bytes(const ops::Op& op, const ops::Shapes& shapes) const {
  const OpRow& row = row_of(op, shapes);
  return row.scratch == nullptr ? 0 : row.scratch({op, shapes, threads_, gemms_});
}

std::int64_t CpuTarget::overhead_bytes(const program::Program& program) const {
  std::int64_t ops = 0, kernels = 0, packing = 0;
  for (const program::Phase& phase : program.phases)
    ops += static_cast<std::int64_t>(phase.ops.size());
  for (const Gemm* gemm : products_of(gemms_, program, threads_)) {
    kernels += gemm->packs_in_its_own_memory() ? kPerSharedProductBytes : kPerProductBytes;
    packing = std::max(packing, packing_bytes(*gemm, threads_));
  }
  return kProcessBytes + threads_ * kPerThreadBytes + ops * kPerOpBytes + kernels + packing;
}

}  // namespace snug::cpu
