// Ops to kernels: operands by name into the kernels' contracts.
#include "backend/cpu/op_functions.h"

#include <fmt/format.h>

#include <cstring>

#include "backend/cpu/kernels/chunks.h"
#include "backend/cpu/op_run.h"
#include "backend/dropout_draw.h"
#include "base/error.h"

namespace snug::cpu {
namespace {

void fill_bytes(const TensorView& view, int value) {
  constexpr std::int64_t kBytes = kChunk * static_cast<std::int64_t>(sizeof(float));
  for_each_range(view.byte_count(), kBytes, 1, [&](std::int64_t begin, std::int64_t end) {
    std::memset(view.data + begin, value, static_cast<std::size_t>(end - begin));
  });
}

// The tensors' own bytes, without staging.
class ArenaBytes : public TensorBytes {
 public:
  explicit ArenaBytes(const CpuExecutor& executor) : executor_(executor) {}

  std::span<const std::byte> get(TensorId id, std::int64_t offset,
                                 std::int64_t byte_count) override {
    return {executor_.bytes(id, offset, byte_count), static_cast<std::size_t>(byte_count)};
  }
  void put(TensorId id, std::int64_t offset, std::int64_t byte_count, const Fill& fill) override {
    fill({executor_.bytes(id, offset, byte_count), static_cast<std::size_t>(byte_count)});
  }

 private:
  const CpuExecutor& executor_;
};

void transfer(const OpRun& r) {
  if (r.context.transfer == nullptr) {
    throw InternalError(fmt::format("'{}' without a host to give to or take from", r.op.label));
  }
  ArenaBytes bytes(r.executor);
  (*r.context.transfer)(bytes);
}

}  // namespace

Dropout OpRun::dropout(std::uint32_t site) const {
  return backend::dropout_draw<Dropout>(context, site);
}

void run_zero(const OpRun& r, const ops::Zero& op) {
  for (const TensorId id : op.tensors.ids) fill_bytes(r.view(id), 0);
}

void run_copy(const OpRun& r, const ops::Copy& op) {
  const TensorView from = r.view(op.from);
  std::memcpy(r.view(op.to).data, from.data, static_cast<std::size_t>(from.byte_count()));
}

void run_checkpoint_write(const OpRun& r, const ops::CheckpointWrite&) { transfer(r); }
void run_checkpoint_read(const OpRun& r, const ops::CheckpointRead&) { transfer(r); }

void run_reset_embed_rows(const OpRun& r, const ops::ResetEmbedRows& op) {
  fill_bytes(r.view(op.slot), 0xff);  // every slot -1
  *r.i32(op.row_count) = 0;
  fill_bytes(r.view(op.rows), 0);
}

void run_merge_embed_rows(const OpRun& r, const ops::MergeEmbedRows& op) {
  const float* rows = r.f32(op.rows);
  const std::int32_t* row_token = r.i32(op.row_token);
  const std::int64_t count = *r.i32(op.row_count), C = r.width(op.rows);
  float* dwte = r.f32(op.dwte);
  for_each_rows(count, C, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      float* out = dwte + row_token[row] * C;
      for (std::int64_t c = 0; c < C; ++c) out[c] += rows[row * C + c];
    }
  });
}

std::int64_t layernorm_backward_scratch(const OpQuestion& q, const ops::LayerNormBackward& op) {
  return layernorm_backward_scratch_bytes(q.shapes.batch_size, q.shapes.width(op.x));
}

std::int64_t attention_scratch(const OpQuestion& q, const ops::Attention& op) {
  return attention_scratch_bytes(q.shapes.block_size, q.shapes.width(op.out) / op.head_count,
                                 q.threads);
}

std::int64_t attention_backward_scratch(const OpQuestion& q, const ops::AttentionBackward& op) {
  return attention_backward_scratch_bytes(q.shapes.block_size,
                                          q.shapes.width(op.out) / op.head_count, q.threads);
}

std::int64_t attention_decode_scratch(const OpQuestion& q, const ops::AttentionDecode& op) {
  return attention_decode_scratch_bytes(op.head_count, q.shapes.shape(op.keys)[0]);
}

}  // namespace snug::cpu
