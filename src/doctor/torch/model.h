// A nanoGPT model as train.py sees it, whatever runs it: eager operators or compiled graphs.
#pragma once

#include "doctor/torch/tape.h"

namespace snug {

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

}  // namespace snug
