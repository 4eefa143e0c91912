#include "doctor/torch/attention_kernels.h"
#include "doctor/torch/compiled.h"

namespace snug::doctor::torch {
namespace {

// From here on inductor sums a layer norm's weight gradient in two steps, first 16 rows at a time.
constexpr std::int64_t kManyRows = 16384;
constexpr std::int64_t kNormRowsPerSum = 16;
constexpr std::string_view kOp = "empty_strided_cuda";

}  // namespace

// Half-precision gradient of a weight; its fp32 copy is what the graph returns.
TorchRef TorchCompiledGpt::weight_product(std::int32_t weight) {
  TorchRef result = ops_.tape().allocate({"gradient", kOp, TorchRole::kTemporary, weight},
                                         ops_.parameters().shape(weight), ops_.compute());
  ops_.matmul_workspace();
  return result;
}

void TorchCompiledGpt::keep_gradient(std::int32_t parameter, TorchRef half) {
  if (ops_.autocasts()) {
    half = ops_.tape().allocate({"gradient", kOp, TorchRole::kGradient, parameter},
                                ops_.parameters().shape(parameter), TorchDType::kF32);
  }
  gradients_.emplace_back(parameter, std::move(half));
  if (!ops_.run().bias) return;
  gradients_.emplace_back(
      parameter + 1,
      ops_.tape().allocate({"gradient", kOp, TorchRole::kGradient, parameter + 1},
                           ops_.parameters().shape(parameter + 1), TorchDType::kF32));
}

void TorchCompiledGpt::keep_norm_gradient(std::int32_t weight) {
  const std::int64_t rows = ops_.pass().batch * ops_.pass().block;
  const std::int64_t columns = ops_.run().n_embd;
  TorchRef partial;
  if (rows >= kManyRows) {
    partial = ops_.temporary("layer norm's partial sums", kOp, {rows / kNormRowsPerSum, columns},
                             TorchDType::kF32);
  }
  for (std::int32_t i = weight; i <= weight + (ops_.run().bias ? 1 : 0); ++i) {
    gradients_.emplace_back(i, ops_.tape().allocate({"gradient", kOp, TorchRole::kGradient, i},
                                                    {columns}, TorchDType::kF32));
  }
  if (partial) ops_.sum_scratch(rows / kNormRowsPerSum, columns);
}

// logits is an output of the graph that nothing reads: autograd makes a gradient of zeros for it.
TorchRef TorchCompiledGpt::loss_backward(TorchRef of_loss, Graph& graph) {
  const Shape shape{ops_.pass().batch * ops_.pass().block, ops_.run().vocab_size};
  TorchRef zeros = ops_.tape().allocate({"zero gradient of logits", "zeros", TorchRole::kLoss},
                                        shape, ops_.compute());
  TorchRef result =
      ops_.tape().allocate({"gradient of logits", kOp, TorchRole::kLoss}, shape, ops_.compute());
  graph.logit_maximum.reset();
  graph.logit_sum.reset();
  graph.total_weight.reset();
  graph.targets.reset();
  of_loss.reset();
  return result;
}

void TorchCompiledGpt::final_norm_backward(TorchRef of_output) {
  const std::int64_t width = ops_.run().n_embd;
  stream_gradient_ = gradient("gradient of the residual stream", width, TorchDType::kF32);
  const bool many_rows = ops_.pass().batch * ops_.pass().block >= kManyRows;
  TorchRef half;  // else written over `of_output`
  if (ops_.autocasts() && (ops_.run().dropout > 0 || !many_rows)) {
    half = gradient("gradient of mlp output", width, ops_.compute());
  }
  keep_norm_gradient(ops_.parameters().final_norm());
  of_output.reset();
}

// Returns the weight's gradient. In fp32 inductor takes the input's gradient first.
TorchRef TorchCompiledGpt::head_backward(TorchRef of_logits, Graph& graph) {
  const std::int32_t weight = ops_.parameters().token_embedding();
  const auto input_product = [&] {
    TorchRef result = gradient(kHeadLabels.input_gradient, ops_.run().n_embd, ops_.compute());
    ops_.matmul_workspace();
    return result;
  };
  TorchRef of_weight, of_input;
  if (ops_.autocasts()) {
    of_weight = weight_product(weight);
    graph.ln_f.output.reset();
    of_input = input_product();
    of_logits.reset();
    graph.head.reset();
    final_norm_backward(std::move(of_input));
  } else {
    of_input = input_product();
    final_norm_backward(std::move(of_input));
    of_weight = weight_product(weight);
  }
  graph.ln_f = {};
  return of_weight;
}

void TorchCompiledGpt::mlp_backward(std::int64_t layer, Layer& saved) {
  const TorchParameters& parameters = ops_.parameters();
  const std::int64_t width = ops_.run().n_embd;
  const std::int32_t out = parameters.weight_of(layer, TorchModule::kMlpOut);
  const std::int32_t in = parameters.weight_of(layer, TorchModule::kMlpIn);
  TorchRef branch = gradient("gradient of mlp output", width, ops_.compute());
  TorchRef of_weight = weight_product(out);
  saved.activated.reset();
  TorchRef hidden = gradient("gradient of mlp.c_proj input", 4 * width, ops_.compute());
  ops_.matmul_workspace();
  saved.mlp_out.reset();
  branch.reset();
  keep_gradient(out, std::move(of_weight));
  saved.hidden.reset();
  of_weight = weight_product(in);
  saved.ln_2.output.reset();
  branch = gradient("gradient of mlp.c_fc input", width, ops_.compute());
  ops_.matmul_workspace();
  saved.mlp_in.reset();
  hidden.reset();
  keep_gradient(in, std::move(of_weight));
  keep_norm_gradient(parameters.weight_of(layer, TorchModule::kLn2));
  saved.ln_2 = {};
  saved.mlp_dropout.reset();
}

TorchRef TorchCompiledGpt::attention_kernel_backward(Layer& saved) {
  const TorchAttention kernel = torch_attention(ops_.run(), true);
  TorchRef of_output = gradient("gradient of attn.c_proj input", ops_.run().n_embd, ops_.compute());
  if (kernel == TorchAttention::kFlash || kernel == TorchAttention::kEfficient) {
    saved.qkv.reset();
    saved.attended.reset();
    return attention_backward(ops_, std::move(of_output), std::move(saved.attention));
  }
  const TorchHeads size(ops_);
  TorchRef pairs =
      ops_.temporary("gradient of attn probabilities", kOp, size.pairs(), ops_.compute());
  saved.attention = {};
  saved.qkv.reset();
  return join_qkv_gradients(ops_);
}

void TorchCompiledGpt::attention_part_backward(std::int64_t layer, Layer& saved) {
  const TorchParameters& parameters = ops_.parameters();
  const std::int64_t width = ops_.run().n_embd;
  const std::int32_t out = parameters.weight_of(layer, TorchModule::kAttentionOut);
  const std::int32_t in = parameters.weight_of(layer, TorchModule::kAttentionIn);
  {
    const TorchRef branch = gradient("gradient of attn output", width, ops_.compute());
    TorchRef of_weight = weight_product(out);
    keep_gradient(out, std::move(of_weight));
    saved.attention_out.reset();
    saved.attention_dropout.reset();
  }
  TorchRef of_qkv = attention_kernel_backward(saved);
  TorchRef of_weight = weight_product(in);
  saved.ln_1.output.reset();
  TorchRef branch = gradient("gradient of attn.c_attn input", width, ops_.compute());
  ops_.matmul_workspace();
  saved.attention_in.reset();
  of_qkv.reset();
  keep_gradient(in, std::move(of_weight));
  keep_norm_gradient(parameters.weight_of(layer, TorchModule::kLn1));
}

void TorchCompiledGpt::embedding_backward(Graph graph) {
  const std::int32_t wte = ops_.parameters().token_embedding();
  const std::int32_t wpe = ops_.parameters().position_embedding();
  const auto table = [&](std::int32_t parameter) {
    return ops_.tape().allocate({"gradient", kOp, TorchRole::kGradient, parameter},
                                ops_.parameters().shape(parameter), TorchDType::kF32);
  };
  const TorchRef tokens = table(wte);
  graph = {};
  gradients_.emplace_back(wpe, table(wpe));
  stream_gradient_.reset();
  gradients_.emplace_back(wte, table(wte));
}

void TorchCompiledGpt::backward(TorchRef of_loss) {
  Graph graph = std::move(graph_);
  graph_ = {};
  ops_.tape().set_layer(-1);
  TorchRef of_logits = loss_backward(std::move(of_loss), graph);
  const TorchRef head_gradient = head_backward(std::move(of_logits), graph);
  for (std::int64_t layer = ops_.run().n_layer - 1; layer >= 0; --layer) {
    Layer saved = std::move(graph.layers.back());
    graph.layers.pop_back();
    ops_.tape().set_layer(layer);
    if (saved.input) run_layer(layer, saved.input, saved);
    mlp_backward(layer, saved);
    attention_part_backward(layer, saved);
  }
  ops_.tape().set_layer(-1);
  embedding_backward(std::move(graph));
  for (auto& [parameter, one] : gradients_) ops_.parameters().accumulate(parameter, std::move(one));
  gradients_.clear();
}

}  // namespace snug::doctor::torch
