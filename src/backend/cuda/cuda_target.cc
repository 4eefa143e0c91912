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

// What each op needs; those that are not here need nothing.
std::int64_t scratch_of(const ops::Linear&, const ops::Shapes&) { return kGemmWorkspaceBytes; }
std::int64_t scratch_of(const ops::LinearDx&, const ops::Shapes&) { return kGemmWorkspaceBytes; }
std::int64_t scratch_of(const ops::LinearDw& op, const ops::Shapes& shapes) {
  return kGemmWorkspaceBytes + (op.dbias.is_present() ? partial_sums(shapes.width(op.dy)) : 0);
}
std::int64_t scratch_of(const ops::LayerNormBackward& op, const ops::Shapes& shapes) {
  return partial_sums(2 * shapes.width(op.dy));
}
// The gradient of q is summed over tiles of keys in float32; one row sum per head and row.
std::int64_t scratch_of(const ops::AttentionBackward& op, const ops::Shapes& shapes) {
  const std::int64_t width = shapes.width(op.out);
  return checked_mul(checked_mul(shapes.row_count(), width + op.head_count), kFloatBytes);
}
std::int64_t scratch_of(const ops::AttentionDecode& op, const ops::Shapes& shapes) {
  return checked_mul(op.head_count * shapes.shape(op.keys)[0], kFloatBytes);
}
// Tokens sorted with their positions, and where each run starts.
std::int64_t scratch_of(const ops::EmbedBackward&, const ops::Shapes& shapes) {
  return checked_mul(3 * size_of(DType::kI32), shapes.row_count());
}
std::int64_t scratch_of(const ops::GradientNorm&, const ops::Shapes&) {
  return kReductionBlocks * size_of(DType::kF64);
}

}  // namespace

std::int64_t CudaTarget::scratch_bytes(const Op& op, const ops::Shapes& shapes) const {
  return std::visit(
      [&](const auto& definition) -> std::int64_t {
        if constexpr (requires { scratch_of(definition, shapes); }) {
          return scratch_of(definition, shapes);
        } else {
          return 0;
        }
      },
      op.definition);
}

}  // namespace snug::cuda
