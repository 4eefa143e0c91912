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
void run_merge_embed_rows(const OpRun& r, const ops::MergeEmbedRows& op);

std::int64_t layernorm_backward_scratch(const OpQuestion& q, const ops::LayerNormBackward& op);

std::int64_t attention_scratch(const OpQuestion& q, const ops::Attention& op);
std::int64_t attention_backward_scratch(const OpQuestion& q, const ops::AttentionBackward& op);
std::int64_t attention_decode_scratch(const OpQuestion& q, const ops::AttentionDecode& op);

void run_gradient_norm(const OpRun& r, const ops::GradientNorm& op);
std::int64_t gradient_norm_scratch(const OpQuestion& q, const ops::GradientNorm& op);
void run_adamw(const OpRun& r, const ops::AdamW& op);
void run_adamw_bf16(const OpRun& r, const ops::AdamW& op);

}  // namespace snug::cpu
