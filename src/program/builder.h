// ProgramBuilder: the one place where tensors and ops are added to a Program. Scratch is asked from
// the target when an op is emitted.
#pragma once

#include <string>
#include <string_view>

#include "model/model_spec.h"
#include "program/program.h"

namespace snug {

class ProgramBuilder {
 public:
  ProgramBuilder(const ModelSpec& model, const Target& target);

  const ModelSpec& model() const { return model_; }

  // Weights alone (sampling), or also gradients and AdamW's two moments (training).
  void add_weights();
  void add_training_state();

  // The weight or gradient of a parameter by its short name, "h.3.mlp.c_fc.bias", without nanoGPT's
  // "transformer." in front; kNoTensor for a bias of a model without biases. Throws InternalError
  // for any other name that the model does not have.
  TensorId weight(std::string_view short_name) const;
  TensorId gradient(std::string_view short_name) const;

  // `bytes` of it are alive from first to last use unless another lifetime is given.
  TensorId add(Tensor tensor);
  TensorId activation(std::string name, Shape shape, Role role = Role::kActivations);

  Phase& begin_phase(PhaseKind kind, bool in_iteration, std::int64_t batch_size = 0,
                     std::int64_t block_size = 0);
  Phase& phase() { return program_.phases.back(); }
  // Appends to the current phase.
  void emit(Op op);

  const Program& program() const { return program_; }
  Program take() { return std::move(program_); }

 private:
  TensorId find(std::string_view short_name, const std::vector<TensorId>& ids) const;

  const ModelSpec& model_;
  const Target& target_;
  Program program_;
};

}  // namespace snug
