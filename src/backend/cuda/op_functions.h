// What the rows of the card's ops call: for each definition, how it is started. Linear ops have a
// file of their own, linear.h.
#pragma once

#include "backend/cuda/op_rows.h"

namespace snug::cuda {

void run_zero(const OpRun& r, const ops::Zero& op);
void run_cast(const OpRun& r, const ops::Cast& op);
void run_copy(const OpRun& r, const ops::Copy& op);
void run_checkpoint_write(const OpRun& r, const ops::CheckpointWrite& op);
void run_checkpoint_read(const OpRun& r, const ops::CheckpointRead& op);

void run_reset_embed_rows(const OpRun& r, const ops::ResetEmbedRows& op);
void run_embed(const OpRun& r, const ops::Embed& op);
void run_embed_backward(const OpRun& r, const ops::EmbedBackward& op);
void run_merge_embed_rows(const OpRun& r, const ops::MergeEmbedRows& op);

void run_layernorm(const OpRun& r, const ops::LayerNorm& op);
void run_layernorm_apply(const OpRun& r, const ops::LayerNormApply& op);
void run_layernorm_backward(const OpRun& r, const ops::LayerNormBackward& op);

void run_gelu(const OpRun& r, const ops::Gelu& op);
void run_gelu_backward(const OpRun& r, const ops::GeluBackward& op);
// Together with the norm that follows, where the executor found that it may.
void run_residual_add(const OpRun& r, const ops::ResidualAdd& op);
void run_dropout_backward(const OpRun& r, const ops::DropoutBackward& op);
void run_cross_entropy(const OpRun& r, const ops::CrossEntropy& op);

void run_attention(const OpRun& r, const ops::Attention& op);
void run_attention_backward(const OpRun& r, const ops::AttentionBackward& op);
void run_attention_decode(const OpRun& r, const ops::AttentionDecode& op);
void run_kv_store(const OpRun& r, const ops::KvStore& op);

void run_gradient_norm(const OpRun& r, const ops::GradientNorm& op);
void run_adamw(const OpRun& r, const ops::AdamW& op);

}  // namespace snug::cuda
