#include "doctor/torch/compiled.h"

namespace snug::doctor::torch {

TorchRef TorchCompiledGpt::activation(std::string_view what, std::int64_t width, TorchDType dtype) {
  return ops_.activation(what, "empty_strided_cuda", width, dtype);
}

TorchRef TorchCompiledGpt::row_values(std::string_view what) {
  return activation(what, 1, TorchDType::kF32);
}

TorchRef TorchCompiledGpt::operand(std::int32_t weight) {
  return ops_.parameters().uncached_operand(weight);
}

TorchRef TorchCompiledGpt::gradient(std::string_view what, std::int64_t width, TorchDType dtype) {
  return ops_.temporary(what, "empty_strided_cuda", {ops_.pass().batch, ops_.pass().block, width},
                        dtype);
}

TorchRef TorchCompiledGpt::product(const TorchLinearLabels& labels, std::int32_t weight) {
  const TorchPass& pass = ops_.pass();
  const TorchPartScope part(ops_.tape(), labels.part);
  TorchRef result = ops_.tape().allocate(
      {labels.output, "empty_strided_cuda", labels.output_role},
      {pass.batch, pass.block, ops_.parameters().shape(weight)[0]}, ops_.compute());
  ops_.matmul_workspace();
  return result;
}

TorchRef TorchCompiledGpt::dropout_mask() {
  if (ops_.run().dropout == 0 || !ops_.pass().trains) return {};
  return activation("dropout mask", ops_.run().n_embd, TorchDType::kBool);
}

TorchCompiledGpt::Norm TorchCompiledGpt::norm(std::string_view normalised,
                                              std::string_view output) {
  const std::int64_t width = ops_.run().n_embd;
  Norm result;
  result.normalised = activation(normalised, width, TorchDType::kF32);
  result.output = activation(output, width, ops_.compute());
  result.rstd = row_values("layer norm's rstd");
  return result;
}

// The fused kernels are called as they are; products and softmax are fused into four tensors.
TorchRef TorchCompiledGpt::attend(Layer& saved) {
  const TorchPartScope part(ops_.tape(), TorchPart::kAttentionHeads);
  const TorchAttention kernel = torch_attention(ops_.run(), ops_.pass().trains);
  if (kernel == TorchAttention::kFlash || kernel == TorchAttention::kEfficient) {
    std::vector<TorchRef> locals;
    TorchRef output = attention(ops_, saved.qkv, &saved.attention, locals);
    if (saved.attention.k) saved.qkv.reset();  // padded copies are kept instead
    return output;
  }
  const std::int64_t pairs = ops_.run().n_head * ops_.pass().block;
  saved.attention.probabilities = activation("attn scores", pairs, ops_.compute());
  saved.attention.row_maxima = activation("attn maxima", ops_.run().n_head, TorchDType::kF32);
  saved.attention.row_sums = activation("attn sums", ops_.run().n_head, TorchDType::kF32);
  saved.attention.probabilities_cast = activation("attn probabilities", pairs, ops_.compute());
  return activation("attn output", ops_.run().n_embd, ops_.compute());
}

// Position embeddings and mean are kept where that is cheaper than the sum of embeddings, which a
// batch of one does not have, or with dropout than its mask: 4 T C against B T C bytes.
TorchRef TorchCompiledGpt::embed(const TorchRef& tokens, Graph& graph) {
  const TorchPass& pass = ops_.pass();
  const TorchPartScope part(ops_.tape(), TorchPart::kEmbedding);
  const TorchRole role = TorchRole::kActivation;
  const bool keeps_parts = pass.batch > (ops_.run().dropout > 0 ? 4 : 1);
  graph.tokens = tokens;
  graph.positions = ops_.tape().allocate({"positions", "empty_strided_cuda", role}, {pass.block},
                                         TorchDType::kI64);
  if (keeps_parts) {
    graph.position_embedding =
        ops_.tape().allocate({"position embeddings", "empty_strided_cuda", role},
                             {pass.block, ops_.run().n_embd}, TorchDType::kF32);
  }
  graph.embedding_dropout = dropout_mask();
  TorchRef stream = activation("embeddings", ops_.run().n_embd, TorchDType::kF32);
  if (keeps_parts) graph.mean = row_values("layer norm's mean");
  return stream;
}

// `branch` is what the block before adds to the stream, for the first block the stream itself.
TorchRef TorchCompiledGpt::run_layer(std::int64_t layer, TorchRef branch, Layer& saved) {
  ops_.tape().set_layer(layer);
  const TorchParameters& parameters = ops_.parameters();
  const std::int64_t width = ops_.run().n_embd;
  if (layer == 0) {
    saved.ln_1.normalised = std::move(branch);
    saved.ln_1.output = activation("ln_1 output", width, ops_.compute());
    saved.ln_1.rstd = row_values("layer norm's rstd");
  } else {
    saved.ln_1 = norm("ln_1 normalised", "ln_1 output");
    branch.reset();
  }
  saved.attention_in = operand(parameters.weight_of(layer, TorchModule::kAttentionIn));
  saved.qkv = product(kAttentionInLabels, parameters.weight_of(layer, TorchModule::kAttentionIn));
  saved.attended = attend(saved);
  const std::int32_t out = parameters.weight_of(layer, TorchModule::kAttentionOut);
  saved.attention_out = operand(out);
  branch = product(kAttentionOutLabels, out);
  saved.attention_dropout = dropout_mask();
  saved.ln_2 = norm("ln_2 normalised", "ln_2 output");
  branch.reset();
  saved.mlp_in = operand(parameters.weight_of(layer, TorchModule::kMlpIn));
  saved.hidden = product(kMlpInLabels, parameters.weight_of(layer, TorchModule::kMlpIn));
  saved.mlp_out = operand(parameters.weight_of(layer, TorchModule::kMlpOut));
  {
    const TorchPartScope part(ops_.tape(), TorchPart::kGelu);
    saved.activated = activation("mlp.gelu output", 4 * width, ops_.compute());
  }
  branch = product(kMlpOutLabels, parameters.weight_of(layer, TorchModule::kMlpOut));
  saved.mlp_dropout = dropout_mask();
  return branch;
}

TorchForward TorchCompiledGpt::head(Graph& graph) {
  const std::int32_t weight = ops_.parameters().token_embedding();
  graph.head = operand(weight);
  TorchForward result;
  result.logits = product(kHeadLabels, weight);
  graph.logit_maximum = row_values("logits' maxima");
  graph.logit_sum = row_values("logits' sums");
  const TorchLabel scalar{"loss", "empty_strided_cuda", TorchRole::kActivation};
  result.loss = ops_.tape().allocate(scalar, Shape{}, TorchDType::kF32);
  graph.total_weight = ops_.tape().allocate(scalar, Shape{}, TorchDType::kF32);
  return result;
}

TorchForward TorchCompiledGpt::forward(const TorchRef& tokens, const TorchRef& targets) {
  const TorchRun& run = ops_.run();
  graph_ = {};
  ops_.tape().set_layer(-1);
  TorchRef branch = embed(tokens, graph_);
  for (std::int64_t layer = 0; layer < run.n_layer; ++layer) {
    Layer saved;
    const bool checkpointed = layer < run.checkpoint_blocks;
    TorchRef input = branch;
    if (checkpointed && layer > 0) {
      input = activation("residual stream", run.n_embd, TorchDType::kF32);
    }
    branch = run_layer(layer, std::move(branch), saved);
    if (checkpointed) {
      saved = {};
      saved.input = std::move(input);
    }
    graph_.layers.push_back(std::move(saved));
  }
  ops_.tape().set_layer(-1);
  graph_.ln_f = norm("ln_f normalised", kHeadLabels.input);
  branch.reset();
  if (run.checkpoint_blocks > 0) graph_.ln_f.normalised.reset();
  graph_.targets = targets;
  return head(graph_);
}

// Buffers are used again from layer to layer: one set of them, then the head.
TorchForward TorchCompiledGpt::evaluate(const TorchRef&, const TorchRef&) {
  const std::int64_t width = ops_.run().n_embd;
  const TorchParameters& parameters = ops_.parameters();
  ops_.tape().set_layer(-1);
  {
    const TorchRef stream = activation("residual stream", width, TorchDType::kF32);
    const TorchRef normed = activation("layer norm output", width, ops_.compute());
    const TorchRef mlp_in = operand(parameters.weight_of(0, TorchModule::kMlpIn));
    const TorchRef hidden = activation(kMlpInLabels.output, 4 * width, ops_.compute());
    const TorchRef attention_in = operand(parameters.weight_of(0, TorchModule::kAttentionIn));
    const TorchRef qkv =
        product(kAttentionInLabels, parameters.weight_of(0, TorchModule::kAttentionIn));
    activation("attn output", width, ops_.compute());
  }
  Graph graph;
  graph.ln_f.output = activation(kHeadLabels.input, width, ops_.compute());
  return head(graph);
}

}  // namespace snug::doctor::torch
