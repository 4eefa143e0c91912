// Attention's ops to its kernels.
#include <cstring>

#include "backend/cpu/op_functions.h"
#include "backend/cpu/op_run.h"

namespace snug::cpu {

void run_attention(const OpRun& r, const ops::Attention& op) {
  r.kernels().attention({.B = r.B(),
                         .T = r.T(),
                         .C = r.width(op.out),
                         .H = op.head_count,
                         .qkv = r.f32(op.qkv),
                         .out = r.f32(op.out),
                         .lse = r.f32(op.lse),
                         .scratch = r.scratch,
                         .dropout = r.dropout(op.dropout_site)});
}

std::int64_t attention_scratch(const OpQuestion& q, const ops::Attention& op) {
  return attention_scratch_bytes(q.shapes.block_size, q.shapes.width(op.out) / op.head_count,
                                 q.threads);
}

void run_attention_backward(const OpRun& r, const ops::AttentionBackward& op) {
  r.kernels().attention_backward({.B = r.B(),
                                  .T = r.T(),
                                  .C = r.width(op.out),
                                  .H = op.head_count,
                                  .qkv = r.f32(op.qkv),
                                  .out = r.f32(op.out),
                                  .lse = r.f32(op.lse),
                                  .dout = r.f32(op.dout),
                                  .dqkv = r.f32(op.dqkv),
                                  .scratch = r.scratch,
                                  .dropout = r.dropout(op.dropout_site)});
}

std::int64_t attention_backward_scratch(const OpQuestion& q, const ops::AttentionBackward& op) {
  return attention_backward_scratch_bytes(q.shapes.block_size,
                                          q.shapes.width(op.out) / op.head_count, q.threads);
}

void run_attention_decode(const OpRun& r, const ops::AttentionDecode& op) {
  r.kernels().attention_decode({.C = r.width(op.out),
                                .H = op.head_count,
                                .position = r.context.position,
                                .qkv = r.f32(op.qkv),
                                .keys = r.f32(op.keys),
                                .values = r.f32(op.values),
                                .out = r.f32(op.out),
                                .scratch = r.scratch.floats()});
}

std::int64_t attention_decode_scratch(const OpQuestion& q, const ops::AttentionDecode& op) {
  return attention_decode_scratch_bytes(op.head_count, q.shapes.shape(op.keys)[0]);
}

void run_kv_store(const OpRun& r, const ops::KvStore& op) {
  const std::int64_t C = r.width(op.keys);
  const auto bytes = static_cast<std::size_t>(C) * sizeof(float);
  for (std::int64_t t = 0; t < r.T(); ++t) {
    const float* qkv = r.f32(op.qkv) + t * 3 * C;
    std::memcpy(r.f32(op.keys) + t * C, qkv + C, bytes);
    std::memcpy(r.f32(op.values) + t * C, qkv + 2 * C, bytes);
  }
}

}  // namespace snug::cpu
