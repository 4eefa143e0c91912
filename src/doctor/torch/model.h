// A nanoGPT model as train.py sees it, whatever runs it: eager operators or compiled graphs.
#pragma once

#include "doctor/torch/ops.h"

namespace snug::doctor::torch {

struct TorchForward {
  TorchRef logits, loss;
};

class TorchModel {
 public:
  virtual ~TorchModel() = default;

  // Under no_grad, in evaluation mode.
  virtual TorchForward evaluate(const TorchRef& tokens, const TorchRef& targets) = 0;
  // Keeps what backward() needs; at most one graph is pending.
  virtual TorchForward forward(const TorchRef& tokens, const TorchRef& targets) = 0;
  // `gradient` is the loss's, a scalar. The parameters' gradients are accumulated.
  virtual void backward(TorchRef gradient) = 0;
};

// Names of the tensors around each linear op, shared by forward and backward.
constexpr TorchLinearLabels kAttentionInLabels{"attn.c_attn input, cast", "attn.c_attn output",
                                               "gradient of attn.c_attn input",
                                               TorchPart::kAttentionIn};
constexpr TorchLinearLabels kAttentionOutLabels{"attn.c_proj input, cast", "attn.c_proj output",
                                                "gradient of attn.c_proj input",
                                                TorchPart::kAttentionOut};
constexpr TorchLinearLabels kMlpInLabels{"mlp.c_fc input, cast", "mlp.c_fc output (GELU input)",
                                         "gradient of mlp.c_fc input", TorchPart::kMlpIn};
constexpr TorchLinearLabels kMlpOutLabels{"mlp.c_proj input, cast", "mlp.c_proj output",
                                          "gradient of mlp.c_proj input", TorchPart::kMlpOut};
constexpr TorchLinearLabels kHeadLabels{"lm_head input, cast", "logits",
                                        "gradient of lm_head input", TorchPart::kHead,
                                        TorchRole::kLoss};

}  // namespace snug::doctor::torch
