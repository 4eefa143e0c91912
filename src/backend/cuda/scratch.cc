#include "backend/cuda/scratch.h"

#include <algorithm>
#include <type_traits>

#include "base/bytes.h"

namespace snug::cuda {
namespace {

std::int64_t floats(std::int64_t count) { return checked_mul(size_of(DType::kF32), count); }

// What each op needs. A product's bias is brought to the result's 16 bits after the workspace.
std::int64_t bytes_of(const ops::Linear& op, const ops::Shapes& shapes) {
  const bool casts = op.bias.is_present() && shapes.tensor(op.y).dtype != DType::kF32;
  return kGemmWorkspaceBytes + (casts ? 2 * shapes.width(op.y) : 0);
}
std::int64_t bytes_of(const ops::LinearDx&, const ops::Shapes&) { return kGemmWorkspaceBytes; }
// The bias's partial sums are made when the workspace has served.
std::int64_t bytes_of(const ops::LinearDw& op, const ops::Shapes& shapes) {
  const std::int64_t sums =
      op.dbias.is_present() ? floats(bias_backward_floats(shapes.width(op.dy))) : 0;
  return std::max(kGemmWorkspaceBytes, sums);
}
std::int64_t bytes_of(const ops::LayerNormBackward& op, const ops::Shapes& shapes) {
  return floats(norm_backward_floats(shapes.width(op.dy)));
}
std::int64_t bytes_of(const ops::AttentionBackward& op, const ops::Shapes& shapes) {
  return floats(attention_backward_floats(shapes.row_count(), op.head_count));
}
std::int64_t bytes_of(const ops::AttentionDecode& op, const ops::Shapes& shapes) {
  return floats(decode_floats(op.head_count, shapes.shape(op.keys)[0]));
}
std::int64_t bytes_of(const ops::EmbedBackward&, const ops::Shapes& shapes) {
  return checked_mul(size_of(DType::kI32), embed_backward_ints(shapes.row_count()));
}
std::int64_t bytes_of(const ops::GradientNorm&, const ops::Shapes&) {
  return kGradientNormDoubles * size_of(DType::kF64);
}

template <class Op, class... Ops>
concept OneOf = (std::is_same_v<Op, Ops> || ...);
// Ops that need nothing beside their tensors.
template <OneOf<ops::Zero, ops::ResetEmbedRows, ops::Embed, ops::MergeEmbedRows, ops::LayerNorm,
                ops::LayerNormApply, ops::Gelu, ops::GeluBackward, ops::Attention, ops::KvStore,
                ops::ResidualAdd, ops::DropoutBackward, ops::CrossEntropy, ops::AdamW, ops::Cast,
                ops::CheckpointWrite, ops::CheckpointRead, ops::Copy>
              Op>
std::int64_t bytes_of(const Op&, const ops::Shapes&) {
  return 0;
}

}  // namespace

std::int64_t scratch_of(const ops::Op& op, const ops::Shapes& shapes) {
  return std::visit([&](const auto& definition) { return bytes_of(definition, shapes); },
                    op.definition);
}

}  // namespace snug::cuda
