// Ops on activations to their kernels, in any precision: X is float, Bf16 or F16. Operands by name
// into the kernels' contracts. For op_rows.cc, which makes the rows of all three.
#pragma once

#include <cstring>

#include "backend/cpu/op_run.h"

namespace snug::cpu {

template <class X>
void run_embed(const OpRun& r, const ops::Embed& op) {
  r.kernels().on<X>().embed({.B = r.B(),
                             .T = r.T(),
                             .C = r.width(op.x),
                             .tokens = r.i32(op.tokens),
                             .wte = r.data<X>(op.wte),
                             .wpe = r.data<X>(op.wpe),
                             .out = r.data<X>(op.x),
                             .first_position = op.position_from_context ? r.context.position : 0,
                             .dropout = r.dropout(op.dropout_site)});
}

template <class X>
void run_embed_backward(const OpRun& r, const ops::EmbedBackward& op) {
  r.kernels().on<X>().embed_backward({.B = r.B(),
                                      .T = r.T(),
                                      .C = r.width(op.dx),
                                      .tokens = r.i32(op.tokens),
                                      .dout = r.data<X>(op.dx),
                                      .dwpe = r.f32(op.dwpe),
                                      .rows = r.f32(op.rows),
                                      .slot = r.i32(op.slot),
                                      .row_token = r.i32(op.row_token),
                                      .row_count = r.i32(op.row_count),
                                      .dropout = r.dropout(op.dropout_site)});
}

template <class X>
void run_layernorm(const OpRun& r, const ops::LayerNorm& op) {
  r.kernels().on<X>().layernorm_forward({.rows = r.rows(),
                                         .C = r.width(op.x),
                                         .x = r.data<X>(op.x),
                                         .gamma = r.f32(op.gamma),
                                         .beta = r.f32(op.beta),
                                         .y = r.data<X>(op.y),
                                         .mean = r.f32(op.mean),
                                         .rstd = r.f32(op.rstd)});
}

template <class X>
void run_layernorm_apply(const OpRun& r, const ops::LayerNormApply& op) {
  r.kernels().on<X>().layernorm_apply({.rows = r.rows(),
                                       .C = r.width(op.x),
                                       .x = r.data<X>(op.x),
                                       .gamma = r.f32(op.gamma),
                                       .beta = r.f32(op.beta),
                                       .y = r.data<X>(op.y),
                                       .mean = r.f32(op.mean),
                                       .rstd = r.f32(op.rstd)});
}

template <class X>
void run_layernorm_backward(const OpRun& r, const ops::LayerNormBackward& op) {
  r.kernels().on<X>().layernorm_backward({.B = r.B(),
                                          .T = r.T(),
                                          .C = r.width(op.x),
                                          .dy = r.data<X>(op.dy),
                                          .x = r.data<X>(op.x),
                                          .gamma = r.f32(op.gamma),
                                          .mean = r.f32(op.mean),
                                          .rstd = r.f32(op.rstd),
                                          .dx = r.data<X>(op.dx),
                                          .dgamma = r.f32(op.dgamma),
                                          .dbeta = r.f32(op.dbeta),
                                          .sums = r.scratch.floats()});
}

template <class X>
void run_gelu(const OpRun& r, const ops::Gelu& op) {
  r.kernels().on<X>().gelu({.count = r.rows() * r.width(op.x),
                            .x = r.data<X>(op.x),
                            .y = r.data<X>(op.y),
                            .form = op.form});
}

template <class X>
void run_gelu_backward(const OpRun& r, const ops::GeluBackward& op) {
  r.kernels().on<X>().gelu_backward({.count = r.rows() * r.width(op.x),
                                     .x = r.data<X>(op.x),
                                     .dy = r.data<X>(op.dy),
                                     .form = op.form});
}

template <class X>
void run_residual_add(const OpRun& r, const ops::ResidualAdd& op) {
  r.kernels().on<X>().residual_add({.B = r.B(),
                                    .T = r.T(),
                                    .C = r.width(op.out),
                                    .residual = r.data<X>(op.residual),
                                    .branch = r.data<X>(op.branch),
                                    .out = r.data<X>(op.out),
                                    .dropout = r.dropout(op.dropout_site)});
}

template <class X>
void run_dropout_backward(const OpRun& r, const ops::DropoutBackward& op) {
  r.kernels().on<X>().dropout_backward({.B = r.B(),
                                        .T = r.T(),
                                        .C = r.width(op.din),
                                        .dout = r.data<X>(op.dout),
                                        .din = r.data<X>(op.din),
                                        .dropout = r.dropout(op.dropout_site)});
}

template <class X>
void run_cross_entropy(const OpRun& r, const ops::CrossEntropy& op) {
  r.kernels().on<X>().cross_entropy({.rows = r.end_row - r.first_row,
                                     .V = r.width(op.logits),
                                     .targets = r.i32(op.targets) + r.first_row,
                                     .logits = r.data<X>(op.logits),
                                     .losses = r.f32(op.losses) + r.first_row,
                                     .want_gradient = op.gradient.is_present(),
                                     .gradient_scale = static_cast<float>(r.context.loss_scale)});
}

template <class X>
void run_attention(const OpRun& r, const ops::Attention& op) {
  r.kernels().on<X>().attention({.B = r.B(),
                                 .T = r.T(),
                                 .C = r.width(op.out),
                                 .H = op.head_count,
                                 .qkv = r.data<X>(op.qkv),
                                 .out = r.data<X>(op.out),
                                 .lse = r.f32(op.lse),
                                 .scratch = r.scratch,
                                 .dropout = r.dropout(op.dropout_site)});
}

template <class X>
void run_attention_backward(const OpRun& r, const ops::AttentionBackward& op) {
  r.kernels().on<X>().attention_backward({.B = r.B(),
                                          .T = r.T(),
                                          .C = r.width(op.out),
                                          .H = op.head_count,
                                          .qkv = r.data<X>(op.qkv),
                                          .out = r.data<X>(op.out),
                                          .lse = r.f32(op.lse),
                                          .dout = r.data<X>(op.dout),
                                          .dqkv = r.data<X>(op.dqkv),
                                          .scratch = r.scratch,
                                          .dropout = r.dropout(op.dropout_site)});
}

template <class X>
void run_attention_decode(const OpRun& r, const ops::AttentionDecode& op) {
  r.kernels().on<X>().attention_decode({.C = r.width(op.out),
                                        .H = op.head_count,
                                        .position = r.context.position,
                                        .qkv = r.data<X>(op.qkv),
                                        .keys = r.data<X>(op.keys),
                                        .values = r.data<X>(op.values),
                                        .out = r.data<X>(op.out),
                                        .scratch = r.scratch.floats()});
}

template <class X>
void run_kv_store(const OpRun& r, const ops::KvStore& op) {
  const std::int64_t C = r.width(op.keys);
  const auto bytes = static_cast<std::size_t>(C) * sizeof(X);
  for (std::int64_t t = 0; t < r.T(); ++t) {
    const X* qkv = r.data<X>(op.qkv) + t * 3 * C;
    std::memcpy(r.data<X>(op.keys) + t * C, qkv + C, bytes);
    std::memcpy(r.data<X>(op.values) + t * C, qkv + 2 * C, bytes);
  }
}

}  // namespace snug::cpu
