// The operators of nanoGPT as PyTorch runs them, forward and backward: each allocates its results
// and hidden temporaries on a TorchTape and keeps what autograd would save. Arguments taken by
// value are given up: they are freed when PyTorch frees them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "doctor/torch/parameters.h"
#include "doctor/torch/run.h"
#include "doctor/torch/tape.h"

namespace snug::doctor::torch {

// The sequences of one pass through the model.
struct TorchPass {
  std::int64_t batch = 0;
  std::int64_t block = 0;
  bool trains = false;  // training mode: dropout is on
};

// How one linear op's tensors are called.
struct TorchLinearLabels {
  std::string_view input, output, input_gradient;
  TorchPart part;
  TorchRole output_role = TorchRole::kActivation;
};

// What autograd saves; empty where nothing is saved.
struct TorchLayerNormSaved {
  TorchRef input, mean, rstd;
};
struct TorchLinearSaved {
  TorchRef input, weight;
  bool casts_input = false;
};

class TorchOps {
 public:
  TorchOps(const TorchRun& run, TorchTape& tape, TorchParameters& parameters);

  void set_pass(const TorchPass& pass) { pass_ = pass; }
  const TorchPass& pass() const { return pass_; }
  const TorchRun& run() const { return run_; }
  TorchTape& tape() { return tape_; }
  TorchParameters& parameters() { return parameters_; }
  TorchDType compute() const { return torch_dtype(run_.compute); }
  bool autocasts() const { return run_.compute != DType::kF32; }

  // A float activation of shape (batch, block, width).
  TorchRef activation(std::string_view what, std::string_view op, std::int64_t width,
                      TorchDType dtype);
  TorchRef temporary(std::string_view what, std::string_view op, const Shape& shape,
                     TorchDType dtype);
  // The workspace of one matrix product. Lent for the call; in older versions kept, one per thread.
  void matmul_workspace();
  void matmul_with_bias_workspace();

  // The scratch of a sum over `rows` rows of `columns` columns, if PyTorch splits the rows among
  // thread blocks.
  void sum_scratch(std::int64_t rows, std::int64_t columns);
  // A recomputed graph lets go of what it saved when the node has run, before its results are cast
  // and summed.
  void set_recomputed(bool recomputed) { recomputed_ = recomputed; }

  TorchRef layer_norm(std::string_view what, const TorchRef& input, TorchLayerNormSaved* saved);
  TorchRef layer_norm_backward(std::int32_t weight, TorchRef gradient, TorchLayerNormSaved saved);

  TorchRef linear(const TorchLinearLabels& labels, std::int32_t weight, bool has_bias,
                  const TorchRef& input, TorchLinearSaved* saved);
  // Returns the input's gradient. The weight's goes to the parameters, or to `weight_gradient` if
  // that is given.
  TorchRef linear_backward(const TorchLinearLabels& labels, std::int32_t weight, bool has_bias,
                           TorchRef gradient, TorchLinearSaved saved,
                           TorchRef* weight_gradient = nullptr);

  TorchRef dropout(std::string_view what, TorchRef input, TorchRef* mask);
  TorchRef dropout_backward(TorchRef gradient, TorchRef mask);

  // A copy of a residual-stream tensor in the compute type; the tensor itself without autocast.
  TorchRef to_compute(const TorchRef& tensor, std::string_view what,
                      TorchRole role = TorchRole::kActivation);

 private:
  TorchRef to_float(TorchRef half, std::string_view what, TorchRole role, std::int32_t parameter);
  void accumulate(std::int32_t parameter, TorchRef gradient, TorchRef* elsewhere);
  std::vector<TorchRef> layer_norm_parameter_gradients(std::int32_t weight);
  TorchRef weight_product(std::int32_t weight);
  TorchRef bias_sum(std::int32_t bias);

  const TorchRun& run_;
  TorchTape& tape_;
  TorchParameters& parameters_;
  TorchPass pass_;
  bool recomputed_ = false;
  TorchRef forward_workspace_, backward_workspace_;  // older versions
};

}  // namespace snug::doctor::torch
