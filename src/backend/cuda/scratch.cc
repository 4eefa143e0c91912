#include "backend/cuda/scratch.h"

#include <algorithm>

#include "base/bytes.h"

namespace snug::cuda {
namespace {

constexpr std::int64_t kFloatBytes = size_of(DType::kF32);

std::int64_t partial_sums(std::int64_t width) {
  return checked_mul(kReductionBlocks * kFloatBytes, width);
}

// What each op needs; those that are not here need nothing. A product's bias is brought to the
// result's 16 bits after the workspace.
std::int64_t bytes_of(const ops::Linear& op, const ops::Shapes& shapes) {
  const bool casts = op.bias.is_present() && shapes.tensor(op.y).dtype != DType::kF32;
  return kGemmWorkspaceBytes + (casts ? 2 * shapes.width(op.y) : 0);
}
std::int64_t bytes_of(const ops::LinearDx&, const ops::Shapes&) { return kGemmWorkspaceBytes; }
// The bias's partial sums are made when the workspace has served.
std::int64_t bytes_of(const ops::LinearDw& op, const ops::Shapes& shapes) {
  const std::int64_t sums = op.dbias.is_present() ? partial_sums(shapes.width(op.dy)) : 0;
  return std::max(kGemmWorkspaceBytes, sums);
}
std::int64_t bytes_of(const ops::LayerNormBackward& op, const ops::Shapes& shapes) {
  return partial_sums(2 * shapes.width(op.dy));
}
// dout * out, summed over each head and row.
std::int64_t bytes_of(const ops::AttentionBackward& op, const ops::Shapes& shapes) {
  return checked_mul(checked_mul(shapes.row_count(), op.head_count), kFloatBytes);
}
std::int64_t bytes_of(const ops::AttentionDecode& op, const ops::Shapes& shapes) {
  return checked_mul(op.head_count * shapes.shape(op.keys)[0], kFloatBytes);
}
// The slot of every position, and two lists of positions to sort between.
std::int64_t bytes_of(const ops::EmbedBackward&, const ops::Shapes& shapes) {
  return checked_mul(3 * size_of(DType::kI32), shapes.row_count());
}
std::int64_t bytes_of(const ops::GradientNorm&, const ops::Shapes&) {
  return kReductionBlocks * size_of(DType::kF64);
}

}  // namespace

std::int64_t scratch_of(const ops::Op& op, const ops::Shapes& shapes) {
  return std::visit(
      [&](const auto& definition) -> std::int64_t {
        if constexpr (requires { bytes_of(definition, shapes); }) {
          return bytes_of(definition, shapes);
        } else {
          return 0;
        }
      },
      op.definition);
}

}  // namespace snug::cuda
