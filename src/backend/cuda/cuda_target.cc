#include "backend/cuda/cuda_target.h"

#include "base/bytes.h"

namespace snug::cuda {
namespace {

// cuBLASLt is offered this much for every product; cuBLAS's own default is 32 MiB on Hopper and
// 8 MiB before it.
constexpr std::int64_t kGemmWorkspaceBytes = 32 * kMiB;
// Sums over rows are made by this many thread blocks, each with its own partial sums, and added up
// in order by a second kernel.
constexpr std::int64_t kReductionBlocks = 256;
constexpr std::int64_t kFloatBytes = size_of(DType::kF32);

std::int64_t partial_sums(std::int64_t width) {
  return checked_mul(kReductionBlocks * kFloatBytes, width);
}

std::int64_t last_extent(const Program& program, TensorId id) {
  const Shape& shape = program.tensor(id).shape;
  return shape[shape.rank() - 1];
}

}  // namespace

std::int64_t CudaTarget::scratch_bytes(const Program& program, const Phase& phase,
                                       const Op& op) const {
  const std::int64_t rows = checked_mul(phase.batch_size, phase.block_size);
  switch (op.kind) {
    case OpKind::kLinear:
    case OpKind::kLinearDx:
      return kGemmWorkspaceBytes;
    case OpKind::kLinearDw:
      return kGemmWorkspaceBytes +
             (op.writes[1] == kNoTensor ? 0 : partial_sums(last_extent(program, op.reads[0])));
    case OpKind::kLayerNormBackward:
      return partial_sums(2 * last_extent(program, op.reads[0]));
    case OpKind::kAttentionBackward: {
      // The gradient of q is summed over tiles of keys in float32; one row sum per head and row.
      const std::int64_t width = last_extent(program, op.reads[1]);
      return checked_mul(checked_mul(rows, width + op.head_count), kFloatBytes);
    }
    case OpKind::kAttentionDecode:
      return checked_mul(op.head_count * program.tensor(op.reads[1]).shape[0], kFloatBytes);
    case OpKind::kEmbedBackward:  // tokens sorted with their positions, and where each run starts
      return checked_mul(3 * size_of(DType::kI32), rows);
    case OpKind::kGradientNorm:
      return kReductionBlocks * size_of(DType::kF64);
    default:
      return 0;
  }
}

}  // namespace snug::cuda
