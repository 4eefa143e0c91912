// nanoGPT's model.py run eagerly: forward with or without a graph, backward through that graph,
// checkpointed blocks recomputed as torch.utils.checkpoint (not reentrant) does.
#pragma once

#include <vector>

#include "doctor/torch/attention.h"
#include "doctor/torch/model.h"
#include "doctor/torch/ops.h"

namespace snug::doctor::torch {

struct TorchBlockSaved {
  TorchLayerNormSaved ln_1, ln_2;
  TorchLinearSaved c_attn, c_proj, c_fc, mlp_c_proj;
  TorchAttentionSaved attention;
  TorchRef gelu_input;
  TorchRef attention_dropout, mlp_dropout;  // masks of the residual dropouts
  TorchRef recompute_from;                  // a checkpointed block keeps its input only
};

// Everything between a forward and its backward.
struct TorchGraph {
  TorchRef tokens, targets, positions, embedding_dropout;
  std::vector<TorchBlockSaved> blocks;
  TorchLayerNormSaved ln_f;
  TorchLinearSaved head;
  TorchRef log_probabilities;       // log_softmax's output
  TorchRef log_probabilities_full;  // nll_loss's fp32 copy of them
  TorchRef total_weight;
};

class TorchGpt : public TorchModel {
 public:
  explicit TorchGpt(TorchOps& ops) : ops_(ops) {}

  TorchForward evaluate(const TorchRef& tokens, const TorchRef& targets) override;
  TorchForward forward(const TorchRef& tokens, const TorchRef& targets) override;
  void backward(TorchRef gradient) override;

 private:
  TorchForward run(const TorchRef& tokens, const TorchRef& targets, TorchGraph* graph);
  TorchRef embed(const TorchRef& tokens, TorchGraph* graph, std::vector<TorchRef>& locals);
  TorchRef block(std::int64_t layer, const TorchRef& stream, TorchBlockSaved* saved);
  TorchRef attention_branch(std::int64_t layer, const TorchRef& input, TorchBlockSaved* saved);
  TorchRef mlp_branch(std::int64_t layer, const TorchRef& input, TorchBlockSaved* saved,
                      bool stops_early);
  TorchRef loss(const TorchRef& logits, const TorchRef& targets, TorchGraph* graph);
  TorchRef log_softmax(const TorchRef& logits);

  TorchRef loss_backward(TorchRef gradient, TorchGraph& graph);
  void block_backward(std::int64_t layer, TorchRef& stream_gradient, TorchBlockSaved saved);
  void mlp_backward(std::int64_t layer, TorchRef& stream_gradient, TorchBlockSaved& saved);
  void attention_branch_backward(std::int64_t layer, TorchRef& stream_gradient,
                                 TorchBlockSaved& saved);
  void recompute(std::int64_t layer, TorchBlockSaved& saved);
  void embedding_backward(TorchRef stream_gradient, TorchRef head_gradient, TorchGraph graph);
  TorchRef table_gradient(std::int32_t parameter, std::int64_t index_count);
  void add_sorted_rows(std::int64_t index_count, const Shape& table);
  TorchRef indices(std::int64_t count);
  void scratch(std::int64_t bytes);

  TorchOps& ops_;
  TorchGraph graph_;  // between forward() and backward()
};

}  // namespace snug::doctor::torch
