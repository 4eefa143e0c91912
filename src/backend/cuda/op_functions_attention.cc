// Attention's ops to its kernels.
#include "backend/cuda/op_functions.h"
#include "backend/cuda/op_run.h"

namespace snug::cuda {

void run_attention(const OpRun& r, const ops::Attention& op) {
  attention({.dtype = r.dtype(op.qkv),
             .tensor_cores = r.executor.tensor_cores(),
             .B = r.B(),
             .T = r.T(),
             .C = r.width(op.out),
             .H = op.head_count,
             .qkv = r.data(op.qkv),
             .out = r.data(op.out),
             .lse = r.f32(op.lse),
             .dropout = r.dropout(op.dropout_site)},
            r.stream());
}

void run_attention_backward(const OpRun& r, const ops::AttentionBackward& op) {
  attention_backward({.dtype = r.dtype(op.qkv),
                      .tensor_cores = r.executor.tensor_cores(),
                      .B = r.B(),
                      .T = r.T(),
                      .C = r.width(op.out),
                      .H = op.head_count,
                      .qkv = r.data(op.qkv),
                      .out = r.data(op.out),
                      .lse = r.f32(op.lse),
                      .dout = r.data(op.dout),
                      .dqkv = r.data(op.dqkv),
                      .scratch = reinterpret_cast<float*>(r.scratch),
                      .dropout = r.dropout(op.dropout_site)},
                     r.stream());
}

void run_attention_decode(const OpRun& r, const ops::AttentionDecode& op) {
  attention_decode({.dtype = r.dtype(op.qkv),
                    .C = r.width(op.out),
                    .H = op.head_count,
                    .position = r.context.position,
                    .window = r.shapes.shape(op.keys)[0],
                    .qkv = r.data(op.qkv),
                    .keys = r.data(op.keys),
                    .values = r.data(op.values),
                    .out = r.data(op.out),
                    .scratch = reinterpret_cast<float*>(r.scratch)},
                   r.stream());
}

void run_kv_store(const OpRun& r, const ops::KvStore& op) {
  kv_store({.dtype = r.dtype(op.qkv),
            .T = r.T(),
            .C = r.width(op.keys),
            .qkv = r.data(op.qkv),
            .keys = r.data(op.keys),
            .values = r.data(op.values)},
           r.stream());
}

}  // namespace snug::cuda
