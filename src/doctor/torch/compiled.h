// nanoGPT under torch.compile: what inductor's forward and backward graphs of PyTorch 2.15 allocate
// and what its partitioner saves between them. The saved tensors and the two usual peaks (the
// loss's gradient, the end of backward) are as measured; the buffers between them are a sketch, and
// other versions partition otherwise.
#pragma once

#include <utility>
#include <vector>

#include "doctor/torch/attention.h"
#include "doctor/torch/model.h"
#include "doctor/torch/ops.h"

namespace snug::doctor::torch {

class TorchCompiledGpt : public TorchModel {
 public:
  explicit TorchCompiledGpt(TorchOps& ops) : ops_(ops) {}

  TorchForward evaluate(const TorchRef& tokens, const TorchRef& targets) override;
  TorchForward forward(const TorchRef& tokens, const TorchRef& targets) override;
  void backward(TorchRef of_loss) override;

 private:
  struct Norm {
    TorchRef normalised;  // in fp32, before the weight
    TorchRef output;      // what the next product reads
    TorchRef rstd;
  };
  struct Layer {
    TorchRef input;  // of a checkpointed block, which keeps nothing else
    Norm ln_1, ln_2;
    TorchRef attention_in, attention_out, mlp_in, mlp_out;  // operands: weights or copies of them
    TorchRef qkv, attended, hidden, activated;
    TorchAttentionSaved attention;
    TorchRef attention_dropout, mlp_dropout;  // masks
  };
  struct Graph {
    TorchRef tokens, targets, positions, position_embedding, embedding_dropout, mean;
    std::vector<Layer> layers;
    Norm ln_f;
    TorchRef head;
    TorchRef logit_maximum, logit_sum, total_weight;
  };

  TorchRef activation(std::string_view what, std::int64_t width, TorchDType dtype);
  TorchRef gradient(std::string_view what, std::int64_t width, TorchDType dtype);
  TorchRef row_values(std::string_view what);
  TorchRef operand(std::int32_t weight);
  TorchRef product(const TorchLinearLabels& labels, std::int32_t weight);
  TorchRef dropout_mask();
  Norm norm(std::string_view normalised, std::string_view output);
  TorchRef attend(Layer& saved);
  TorchRef embed(const TorchRef& tokens, Graph& graph);
  TorchRef run_layer(std::int64_t layer, TorchRef branch, Layer& saved);
  TorchForward head(Graph& graph);

  TorchRef loss_backward(TorchRef of_loss, Graph& graph);
  TorchRef head_backward(TorchRef of_logits, Graph& graph);
  void final_norm_backward(TorchRef of_output);
  void mlp_backward(std::int64_t layer, Layer& saved);
  void attention_part_backward(std::int64_t layer, Layer& saved);
  TorchRef attention_kernel_backward(Layer& saved);
  TorchRef weight_product(std::int32_t weight);
  void keep_gradient(std::int32_t parameter, TorchRef half);
  void keep_norm_gradient(std::int32_t weight);
  void embedding_backward(Graph graph);

  TorchOps& ops_;
  Graph graph_;
  TorchRef stream_gradient_;
  // The graph returns all gradients at once; only then are they added to the parameters'.
  std::vector<std::pair<std::int32_t, TorchRef>> gradients_;
};

}  // namespace snug::doctor::torch
