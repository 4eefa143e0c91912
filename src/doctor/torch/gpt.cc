#include "doctor/torch/gpt.h"

#include <utility>

namespace snug::doctor::torch {

TorchRef TorchGpt::embed(const TorchRef& tokens, TorchGraph* graph, std::vector<TorchRef>& locals) {
  const TorchPass& pass = ops_.pass();
  const std::int64_t width = ops_.run().n_embd;
  TorchTape& tape = ops_.tape();
  const TorchPartScope part(tape, TorchPart::kEmbedding);
  TorchRef positions = tape.allocate({"positions", "arange", TorchRole::kActivation}, {pass.block},
                                     TorchDType::kI64);
  locals.push_back(positions);
  locals.push_back(ops_.activation("token embeddings", "embedding", width, TorchDType::kF32));
  locals.push_back(tape.allocate({"position embeddings", "embedding", TorchRole::kActivation},
                                 {pass.block, width}, TorchDType::kF32));
  TorchRef stream = ops_.activation("embeddings", "add", width, TorchDType::kF32);
  TorchRef mask;
  stream = ops_.dropout("embeddings, dropped out", std::move(stream), &mask);
  if (graph != nullptr) {
    graph->tokens = tokens;
    graph->positions = std::move(positions);
    graph->embedding_dropout = std::move(mask);
  }
  return stream;
}

TorchRef TorchGpt::attention_branch(std::int64_t layer, const TorchRef& input,
                                    TorchBlockSaved* saved) {
  const TorchParameters& parameters = ops_.parameters();
  const bool bias = ops_.run().bias;
  const TorchRef qkv =
      ops_.linear(kAttentionInLabels, parameters.weight_of(layer, TorchModule::kAttentionIn), bias,
                  input, saved == nullptr ? nullptr : &saved->c_attn);
  std::vector<TorchRef> locals;
  const TorchRef mixed =
      attention(ops_, qkv, saved == nullptr ? nullptr : &saved->attention, locals);
  TorchRef projected =
      ops_.linear(kAttentionOutLabels, parameters.weight_of(layer, TorchModule::kAttentionOut),
                  bias, mixed, saved == nullptr ? nullptr : &saved->c_proj);
  const TorchPartScope part(ops_.tape(), TorchPart::kAttentionOut);
  TorchRef output = ops_.dropout("attn output, dropped out", std::move(projected),
                                 saved == nullptr ? nullptr : &saved->attention_dropout);
  return output;
}

// A recomputation ends with the last tensor that backward needs: the input of the last product, or
// dropout's mask after it.
TorchRef TorchGpt::mlp_branch(std::int64_t layer, const TorchRef& input, TorchBlockSaved* saved,
                              bool stops_early) {
  const TorchParameters& parameters = ops_.parameters();
  const bool bias = ops_.run().bias;
  const std::int32_t out = parameters.weight_of(layer, TorchModule::kMlpOut);
  TorchRef hidden = ops_.linear(kMlpInLabels, parameters.weight_of(layer, TorchModule::kMlpIn),
                                bias, input, saved == nullptr ? nullptr : &saved->c_fc);
  if (saved != nullptr) saved->gelu_input = hidden;
  {
    const TorchPartScope part(ops_.tape(), TorchPart::kGelu);
    hidden = ops_.activation("mlp.gelu output", "gelu", 4 * ops_.run().n_embd, ops_.compute());
  }
  if (stops_early && ops_.run().dropout == 0) {
    if (bias) ops_.parameters().operand(out + 1);
    saved->mlp_c_proj = {hidden, ops_.parameters().operand(out), false};
    return {};
  }
  TorchRef projected = ops_.linear(kMlpOutLabels, out, bias, hidden,
                                   saved == nullptr ? nullptr : &saved->mlp_c_proj);
  hidden.reset();
  TorchRef output = ops_.dropout("mlp output, dropped out", std::move(projected),
                                 saved == nullptr ? nullptr : &saved->mlp_dropout);
  return output;
}

TorchRef TorchGpt::block(std::int64_t layer, const TorchRef& stream, TorchBlockSaved* saved) {
  ops_.tape().set_layer(layer);
  const std::int64_t width = ops_.run().n_embd;
  const bool recomputes = saved != nullptr && saved->recompute_from;
  TorchRef branch;
  const TorchPartScope attention_part(ops_.tape(), TorchPart::kAttention);
  {
    const TorchRef normed =
        ops_.layer_norm("ln_1 output", stream, saved == nullptr ? nullptr : &saved->ln_1);
    branch = attention_branch(layer, normed, saved);
  }
  TorchRef middle = ops_.activation("residual stream after attn", "add", width, TorchDType::kF32);
  branch.reset();
  const TorchPartScope mlp_part(ops_.tape(), TorchPart::kMlp);
  {
    const TorchRef normed =
        ops_.layer_norm("ln_2 output", middle, saved == nullptr ? nullptr : &saved->ln_2);
    branch = mlp_branch(layer, normed, saved, recomputes);
  }
  if (recomputes) return {};
  TorchRef output = ops_.activation("residual stream after mlp", "add", width, TorchDType::kF32);
  branch.reset();
  return output;
}

TorchRef TorchGpt::log_softmax(const TorchRef& logits) {
  const TorchRun& run = ops_.run();
  const TorchLabel label{"log-probabilities", "_log_softmax", TorchRole::kLoss};
  if (run.version == TorchVersion::kCurrent) {
    return ops_.tape().allocate(label, logits->shape, logits->dtype);
  }
  TorchRef full;  // older autocast: fp32, where the kernel reads fp16 as it is and bf16 in a copy
  if (run.compute == DType::kBF16) {
    full = ops_.tape().allocate({"logits in fp32", "_to_copy", TorchRole::kLoss}, logits->shape,
                                TorchDType::kF32);
  }
  TorchRef output = ops_.tape().allocate(label, logits->shape, TorchDType::kF32);
  return output;
}

TorchRef TorchGpt::loss(const TorchRef& logits, const TorchRef& targets, TorchGraph* graph) {
  TorchTape& tape = ops_.tape();
  const TorchPartScope part(tape, TorchPart::kLoss);
  TorchRef log_probabilities = log_softmax(logits);
  TorchRef full;
  if (log_probabilities->dtype != TorchDType::kF32) {
    full = tape.allocate({"log-probabilities in fp32", "_to_copy", TorchRole::kLoss}, logits->shape,
                         TorchDType::kF32);
  }
  const TorchRole role = TorchRole::kActivation;
  TorchRef value = tape.allocate({"loss", "nll_loss_forward", role}, Shape{}, TorchDType::kF32);
  TorchRef total_weight =
      tape.allocate({"loss's total weight", "nll_loss_forward", role}, Shape{}, TorchDType::kF32);
  if (graph != nullptr) {
    graph->targets = targets;
    graph->log_probabilities = std::move(log_probabilities);
    graph->log_probabilities_full = std::move(full);
    graph->total_weight = std::move(total_weight);
  }
  return value;
}

TorchForward TorchGpt::evaluate(const TorchRef& tokens, const TorchRef& targets) {
  return run(tokens, targets, nullptr);
}

TorchForward TorchGpt::forward(const TorchRef& tokens, const TorchRef& targets) {
  return run(tokens, targets, &graph_);
}

TorchForward TorchGpt::run(const TorchRef& tokens, const TorchRef& targets, TorchGraph* graph) {
  const TorchRun& run = ops_.run();
  TorchTape& tape = ops_.tape();
  std::vector<TorchRef> locals;  // of GPT.forward
  tape.set_layer(-1);
  TorchRef stream = embed(tokens, graph, locals);
  for (std::int64_t layer = 0; layer < run.n_layer; ++layer) {
    TorchBlockSaved saved;
    const bool checkpointed = graph != nullptr && layer < run.checkpoint_blocks;
    const bool saves = graph != nullptr && !checkpointed;
    TorchRef output = block(layer, stream, saves ? &saved : nullptr);
    if (checkpointed) saved.recompute_from = stream;
    stream = std::move(output);
    if (graph != nullptr) graph->blocks.push_back(std::move(saved));
  }
  tape.set_layer(-1);
  stream = ops_.layer_norm("ln_f output", stream, graph == nullptr ? nullptr : &graph->ln_f);
  TorchForward result;
  result.logits = ops_.linear(kHeadLabels, ops_.parameters().token_embedding(), false, stream,
                              graph == nullptr ? nullptr : &graph->head);
  result.loss = loss(result.logits, targets, graph);
  return result;
}

}  // namespace snug::doctor::torch
