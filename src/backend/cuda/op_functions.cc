// Ops to kernels: operands by name into the kernels' contracts.
#include "backend/cuda/op_functions.h"

#include "backend/cuda/errors.h"
#include "backend/cuda/op_run.h"
#include "backend/dropout_draw.h"

namespace snug::cuda {

Dropout OpRun::dropout(std::uint32_t site) const {
  return backend::dropout_draw<Dropout>(context, site);
}

namespace {

void fill_bytes(const OpRun& r, TensorId id, int value) {
  const auto bytes = static_cast<std::size_t>(r.shapes.tensor(id).byte_count());
  require(cudaMemsetAsync(r.data(id), value, bytes, r.stream()), r.op.label);
}

}  // namespace

void run_zero(const OpRun& r, const ops::Zero& op) {
  for (const TensorId id : op.tensors.ids) fill_bytes(r, id, 0);
}

void run_copy(const OpRun& r, const ops::Copy& op) { r.executor.copy(op.from, op.to); }

void run_checkpoint_write(const OpRun& r, const ops::CheckpointWrite& op) {
  r.executor.transfer(op.staging, r.context);
}
void run_checkpoint_read(const OpRun& r, const ops::CheckpointRead& op) {
  r.executor.transfer(op.staging, r.context);
}

void run_reset_embed_rows(const OpRun& r, const ops::ResetEmbedRows& op) {
  fill_bytes(r, op.slot, 0xff);  // every slot -1
  fill_bytes(r, op.row_count, 0);
  fill_bytes(r, op.rows, 0);
}

void run_embed(const OpRun& r, const ops::Embed& op) {
  embed({.dtype = r.dtype(op.x),
         .B = r.B(),
         .T = r.T(),
         .C = r.width(op.x),
         .tokens = r.i32(op.tokens),
         .wte = r.data(op.wte),
         .wpe = r.data(op.wpe),
         .out = r.data(op.x),
         .first_position = op.position_from_context ? r.context.position : 0,
         .dropout = r.dropout(op.dropout_site)},
        r.stream());
}

void run_embed_backward(const OpRun& r, const ops::EmbedBackward& op) {
  embed_backward({.dtype = r.dtype(op.dx),
                  .B = r.B(),
                  .T = r.T(),
                  .C = r.width(op.dx),
                  .tokens = r.i32(op.tokens),
                  .dx = r.data(op.dx),
                  .dwpe = r.f32(op.dwpe),
                  .rows = r.f32(op.rows),
                  .capacity = r.shapes.shape(op.rows)[0],
                  .slot = r.i32(op.slot),
                  .row_token = r.i32(op.row_token),
                  .row_count = r.i32(op.row_count),
                  .scratch = reinterpret_cast<std::int32_t*>(r.scratch),
                  .dropout = r.dropout(op.dropout_site)},
                 r.stream());
}

void run_merge_embed_rows(const OpRun& r, const ops::MergeEmbedRows& op) {
  merge_embed_rows({.capacity = r.shapes.shape(op.rows)[0],
                    .C = r.width(op.rows),
                    .rows = r.f32(op.rows),
                    .row_token = r.i32(op.row_token),
                    .row_count = r.i32(op.row_count),
                    .dwte = r.f32(op.dwte)},
                   r.stream());
}

namespace {

template <class Norm>
LayerNorm norm_of(const OpRun& r, const Norm& op) {
  return {.dtype = r.dtype(op.x),
          .B = r.B(),
          .T = r.T(),
          .C = r.width(op.x),
          .x = r.data(op.x),
          .gamma = r.f32(op.gamma),
          .beta = r.f32(op.beta),
          .y = r.data(op.y),
          .mean = r.f32(op.mean),
          .rstd = r.f32(op.rstd),
          .residual = nullptr,
          .branch = nullptr,
          .sum = nullptr,
          .dropout = {}};
}

}  // namespace

void run_layernorm(const OpRun& r, const ops::LayerNorm& op) {
  layernorm(norm_of(r, op), r.stream());
}

void run_layernorm_apply(const OpRun& r, const ops::LayerNormApply& op) {
  layernorm_apply(norm_of(r, op), r.stream());
}

void run_layernorm_backward(const OpRun& r, const ops::LayerNormBackward& op) {
  layernorm_backward({.dtype = r.dtype(op.x),
                      .rows = r.rows(),
                      .C = r.width(op.x),
                      .dy = r.data(op.dy),
                      .x = r.data(op.x),
                      .gamma = r.f32(op.gamma),
                      .mean = r.f32(op.mean),
                      .rstd = r.f32(op.rstd),
                      .dx = r.data(op.dx),
                      .dgamma = r.f32(op.dgamma),
                      .dbeta = r.f32(op.dbeta),
                      .scratch = reinterpret_cast<float*>(r.scratch)},
                     r.stream());
}

void run_gelu(const OpRun& r, const ops::Gelu& op) {
  gelu({.dtype = r.dtype(op.x),
        .form = op.form,
        .count = r.rows() * r.width(op.x),
        .x = r.data(op.x),
        .y = r.data(op.y)},
       r.stream());
}

void run_gelu_backward(const OpRun& r, const ops::GeluBackward& op) {
  gelu_backward({.dtype = r.dtype(op.x),
                 .form = op.form,
                 .count = r.rows() * r.width(op.x),
                 .x = r.data(op.x),
                 .dy = r.data(op.dy)},
                r.stream());
}

void run_residual_add(const OpRun& r, const ops::ResidualAdd& op) {
  if (r.next != nullptr) {
    LayerNorm fused = norm_of(r, *r.next->as<ops::LayerNorm>());
    fused.residual = r.data(op.residual);
    fused.branch = r.data(op.branch);
    fused.sum = r.data(op.out);
    fused.dropout = r.dropout(op.dropout_site);
    return layernorm(fused, r.stream());
  }
  residual_add({.dtype = r.dtype(op.out),
                .B = r.B(),
                .T = r.T(),
                .C = r.width(op.out),
                .residual = r.data(op.residual),
                .branch = r.data(op.branch),
                .out = r.data(op.out),
                .dropout = r.dropout(op.dropout_site)},
               r.stream());
}

void run_dropout_backward(const OpRun& r, const ops::DropoutBackward& op) {
  dropout_backward({.dtype = r.dtype(op.din),
                    .B = r.B(),
                    .T = r.T(),
                    .C = r.width(op.din),
                    .dout = r.data(op.dout),
                    .din = r.data(op.din),
                    .dropout = r.dropout(op.dropout_site)},
                   r.stream());
}

void run_cross_entropy(const OpRun& r, const ops::CrossEntropy& op) {
  cross_entropy({.dtype = r.dtype(op.logits),
                 .rows = r.end_row - r.first_row,
                 .V = r.width(op.logits),
                 .targets = r.i32(op.targets) + r.first_row,
                 .logits = r.data(op.logits),
                 .losses = r.f32(op.losses) + r.first_row,
                 .want_gradient = op.gradient.is_present(),
                 .gradient_factor = static_cast<float>(r.context.loss_scale)},
                r.stream());
}

}  // namespace snug::cuda
