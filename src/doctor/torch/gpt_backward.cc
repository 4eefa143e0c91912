#include <algorithm>
#include <utility>

#include "doctor/torch/gpt.h"

namespace snug::doctor::torch {
namespace {

// EmbeddingBackwardKernel.cu: up to so many indices one kernel adds rows directly; more are sorted
// and added in partial sums of 10 rows.
constexpr std::int64_t kUnsortedIndices = 3072;
constexpr std::int64_t kIndicesPerSum = 10;
constexpr std::string_view kEmbeddingOp = "embedding_dense_backward";
// cub's scratch, nearly: its tiling depends on the card. Never near a peak.
constexpr std::int64_t kScanScratchBytes = 1279;
std::int64_t sort_scratch_bytes(std::int64_t count, std::int64_t rows) {
  const std::int64_t tiles = (count + 4095) / 4096;
  return rows < 256 ? 3583 + 1024 * tiles : 5631 + 1024 * tiles + 2 * 8 * count;
}

}  // namespace

TorchRef TorchGpt::loss_backward(TorchRef gradient, TorchGraph& graph) {
  const TorchRun& run = ops_.run();
  const TorchPartScope part(ops_.tape(), TorchPart::kLoss);
  const Shape shape = graph.log_probabilities->shape;
  const auto wide = [&](std::string_view what, std::string_view op, TorchDType dtype) {
    return ops_.tape().allocate({what, op, TorchRole::kLoss}, shape, dtype);
  };
  const TorchDType log_dtype = graph.log_probabilities->dtype;
  gradient = wide("gradient of log-probabilities in fp32", "nll_loss_backward", TorchDType::kF32);
  graph.log_probabilities_full.reset();
  graph.targets.reset();
  graph.total_weight.reset();
  if (log_dtype != TorchDType::kF32) {
    gradient = wide("gradient of log-probabilities", "_to_copy", log_dtype);
  }
  const bool kernel_casts = run.version == TorchVersion::kOlder && run.compute == DType::kF16;
  gradient = wide("gradient of logits", "_log_softmax_backward_data",
                  kernel_casts ? TorchDType::kF16 : log_dtype);
  graph.log_probabilities.reset();
  if (gradient->dtype != ops_.compute()) {
    gradient = wide("gradient of logits, cast", "_to_copy", ops_.compute());
  }
  return gradient;
}

void TorchGpt::recompute(std::int64_t layer, TorchBlockSaved& saved) {
  block(layer, saved.recompute_from, &saved);
  ops_.parameters().leave_autocast();
  saved.recompute_from.reset();
}

void TorchGpt::mlp_backward(std::int64_t layer, TorchRef& stream_gradient, TorchBlockSaved& saved) {
  const TorchPartScope part(ops_.tape(), TorchPart::kMlp);
  const TorchParameters& parameters = ops_.parameters();
  const bool bias = ops_.run().bias;
  TorchRef gradient =
      ops_.to_compute(stream_gradient, "gradient of mlp output", TorchRole::kTemporary);
  if (saved.recompute_from) recompute(layer, saved);
  gradient = ops_.dropout_backward(std::move(gradient), std::move(saved.mlp_dropout));
  gradient = ops_.linear_backward(kMlpOutLabels, parameters.weight_of(layer, TorchModule::kMlpOut),
                                  bias, std::move(gradient), std::move(saved.mlp_c_proj));
  gradient =
      ops_.temporary("gradient of GELU input", "gelu_backward", gradient->shape, gradient->dtype);
  saved.gelu_input.reset();
  gradient = ops_.linear_backward(kMlpInLabels, parameters.weight_of(layer, TorchModule::kMlpIn),
                                  bias, std::move(gradient), std::move(saved.c_fc));
  gradient = ops_.layer_norm_backward(parameters.weight_of(layer, TorchModule::kLn2),
                                      std::move(gradient), std::move(saved.ln_2));
}

void TorchGpt::attention_branch_backward(std::int64_t layer, TorchRef& stream_gradient,
                                         TorchBlockSaved& saved) {
  const TorchPartScope part(ops_.tape(), TorchPart::kAttention);
  const TorchParameters& parameters = ops_.parameters();
  const bool bias = ops_.run().bias;
  TorchRef gradient =
      ops_.to_compute(stream_gradient, "gradient of attn output", TorchRole::kTemporary);
  gradient = ops_.dropout_backward(std::move(gradient), std::move(saved.attention_dropout));
  gradient = ops_.linear_backward(kAttentionOutLabels,
                                  parameters.weight_of(layer, TorchModule::kAttentionOut), bias,
                                  std::move(gradient), std::move(saved.c_proj));
  gradient = attention_backward(ops_, std::move(gradient), std::move(saved.attention));
  gradient = ops_.linear_backward(kAttentionInLabels,
                                  parameters.weight_of(layer, TorchModule::kAttentionIn), bias,
                                  std::move(gradient), std::move(saved.c_attn));
  gradient = ops_.layer_norm_backward(parameters.weight_of(layer, TorchModule::kLn1),
                                      std::move(gradient), std::move(saved.ln_1));
}

// The gradient of a branch is added to the stream's in place.
void TorchGpt::block_backward(std::int64_t layer, TorchRef& stream_gradient,
                              TorchBlockSaved saved) {
  ops_.tape().set_layer(layer);
  ops_.set_recomputed(static_cast<bool>(saved.recompute_from));
  mlp_backward(layer, stream_gradient, saved);
  attention_branch_backward(layer, stream_gradient, saved);
}

// embedding_dense_backward.
TorchRef TorchGpt::table_gradient(std::int32_t parameter, std::int64_t index_count) {
  const Shape& shape = ops_.parameters().shape(parameter);
  const TorchLabel label{"gradient", kEmbeddingOp, TorchRole::kGradient, parameter};
  if (index_count <= kUnsortedIndices) return ops_.tape().allocate(label, shape, TorchDType::kF32);
  const TorchRef sorted = indices(index_count), order = indices(index_count);
  {
    const TorchRef range = indices(index_count);
    scratch(sort_scratch_bytes(index_count, shape[0]));
  }
  TorchRef result = ops_.tape().allocate(label, shape, TorchDType::kF32);
  add_sorted_rows(index_count, shape);
  return result;
}

void TorchGpt::add_sorted_rows(std::int64_t index_count, const Shape& table) {
  const TorchRef segments = indices(index_count), segment_count = indices(1);
  {
    const TorchRef flags = indices(index_count);
    scratch(kScanScratchBytes);
  }
  const std::int64_t max_segments = std::min(index_count, table[0]);
  const TorchRef counts = indices(max_segments), offsets = indices(max_segments);
  scratch(kScanScratchBytes);
  const TorchRef partial_count = indices(1);
  const std::int64_t partial = index_count / kIndicesPerSum + max_segments;
  const TorchRef partial_offsets = indices(partial);
  // Few rows with many tokens each are added block by block instead.
  if (index_count / table[0] > 30 && table[0] < 4 * ops_.run().multiprocessors) {
    indices(partial);
  } else {
    ops_.temporary("partial sums of embedding_dense_backward", kEmbeddingOp, {partial, table[1]},
                   TorchDType::kF32);
  }
}

TorchRef TorchGpt::indices(std::int64_t count) {
  return ops_.temporary("sorted indices of embedding_dense_backward", kEmbeddingOp, {count},
                        TorchDType::kI64);
}

void TorchGpt::scratch(std::int64_t bytes) {
  ops_.temporary("cub scratch", kEmbeddingOp, {bytes}, TorchDType::kU8);
}

void TorchGpt::embedding_backward(TorchRef stream_gradient, TorchRef head_gradient,
                                  TorchGraph graph) {
  const TorchPass& pass = ops_.pass();
  const TorchPartScope part(ops_.tape(), TorchPart::kEmbedding);
  TorchParameters& parameters = ops_.parameters();
  stream_gradient =
      ops_.dropout_backward(std::move(stream_gradient), std::move(graph.embedding_dropout));
  {
    const TorchRef summed = ops_.temporary("gradient of position embeddings", "sum",
                                           {pass.block, ops_.run().n_embd}, TorchDType::kF32);
    ops_.sum_scratch(pass.batch, pass.block * ops_.run().n_embd);
    TorchRef table = table_gradient(parameters.position_embedding(), pass.block);
    graph.positions.reset();
    parameters.accumulate(parameters.position_embedding(), std::move(table));
  }
  const std::int32_t wte = parameters.token_embedding();
  TorchRef table = table_gradient(wte, pass.batch * pass.block);
  stream_gradient.reset();
  graph.tokens.reset();
  // wte is lm_head too: the two gradients are added before they reach the parameter, in place
  // unless lm_head's is the transposed result of a product, as it is without autocast.
  if (!ops_.autocasts()) {
    TorchRef sum = ops_.tape().allocate({"gradient", "add", TorchRole::kGradient, wte},
                                        parameters.shape(wte), TorchDType::kF32);
    head_gradient = std::move(sum);
  }
  table.reset();
  parameters.accumulate(wte, std::move(head_gradient));
}

void TorchGpt::backward(TorchRef gradient) {
  TorchGraph graph = std::move(graph_);
  graph_ = {};
  TorchTape& tape = ops_.tape();
  tape.set_layer(-1);
  TorchParameters& parameters = ops_.parameters();
  gradient = loss_backward(std::move(gradient), graph);
  TorchRef head_gradient;
  gradient = ops_.linear_backward(kHeadLabels, parameters.token_embedding(), false,
                                  std::move(gradient), std::move(graph.head), &head_gradient);
  gradient =
      ops_.layer_norm_backward(parameters.final_norm(), std::move(gradient), std::move(graph.ln_f));
  for (std::int64_t layer = ops_.run().n_layer - 1; layer >= 0; --layer) {
    block_backward(layer, gradient, std::move(graph.blocks.back()));
    graph.blocks.pop_back();
  }
  tape.set_layer(-1);
  embedding_backward(std::move(gradient), std::move(head_gradient), std::move(graph));
}

}  // namespace snug::doctor::torch
