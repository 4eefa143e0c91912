// What the rows of the CPU's ops call: for each definition, how it runs and what scratch it needs.
// Linear ops have a file of their own, linear.h.
#pragma once

#include "backend/cpu/op_rows.h"

namespace snug::cpu {

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
std::int64_t layernorm_backward_scratch(const OpQuestion& q, const ops::LayerNormBackward& op);

void run_gelu(const OpRun& r, const ops::Gelu& op);
void run_gelu_backward(const OpRun& r, const ops::GeluBackward& op);
void run_residual_add(const OpRun& r, const ops::ResidualAdd& op);
void run_dropout_backward(const OpRun& r, const ops::DropoutBackward& op);
void run_cross_entropy(const OpRun& r, const ops::CrossEntropy& op);

void run_attention(const OpRun& r, const ops::Attention& op);
void run_attention_backward(const OpRun& r, const ops::AttentionBackward& op);
void run_attention_decode(const OpRun& r, const ops::AttentionDecode& op);
void run_kv_store(const OpRun& r, const ops::KvStore& op);
std::int64_t attention_scratch(const OpQuestion& q, const ops::Attention& op);
std::int64_t attention_backward_scratch(const OpQuestion& q, const ops::AttentionBackward& op);
std::int64_t attention_decode_scratch(const OpQuestion& q, const ops::AttentionDecode& op);

void run_gradient_norm(const OpRun& r, const ops::GradientNorm& op);
std::int64_t gradient_norm_scratch(const OpQuestion& q, const ops::GradientNorm& op);
void run_adamw(const OpRun& r, const ops::AdamW& op);
void run_adamw_bf16(const OpRun& r, const ops::AdamW& op);

}  // namespace snug::cpu
