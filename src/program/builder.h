// ProgramBuilder: the one place where tensors and ops are added to a Program. Scratch is asked from
// the target when an op is emitted.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "model/model_spec.h"
#include "program/program.h"
#include "program/target.h"

namespace snug::program {

class ProgramBuilder {
 public:
  // `wanted` is the precision of the arithmetic; the target has the last word.
  ProgramBuilder(const model::ModelSpec& model, const Target& target, DType wanted);

  const model::ModelSpec& model() const { return model_; }
  DType compute() const { return compute_; }

  // Inference: every weight once, matrices in the precision of the arithmetic.
  void add_weights();
  // Training: float32 weights, gradients and AdamW's two moments; where the arithmetic is in 16
  // bits, also a copy of every matrix for it.
  void add_training_state(DType moments);

  // The weight (as ops compute with it) or gradient of a parameter by its short name,
  // "h.3.mlp.c_fc.bias", without nanoGPT's "transformer." in front; kNoTensor for a bias of a model
  // without biases. Throws InternalError for any other name that the model does not have.
  TensorId weight(std::string_view short_name) const;
  TensorId gradient(std::string_view short_name) const;

  // In the target's space, whatever the tensor says.
  TensorId add(Tensor tensor);
  // In the precision of the arithmetic, alive from first to last use.
  TensorId activation(std::string name, Shape shape, Role role = Role::kActivations);
  // A row's mean, scale or log-sum-exp: float32 always.
  TensorId statistic(std::string name, Shape shape);

  // What the host fills or reads instead of `id`: its twin, or itself where the host can reach it.
  // The op that copies is emitted here.
  TensorId from_host(TensorId id);
  TensorId to_host(TensorId id);
  // What the host's transfers are staged through; kNoTensor where the host can reach every tensor.
  TensorId add_staging();

  Phase& begin_phase(PhaseKind kind, bool in_iteration, std::int64_t batch_size = 0,
                     std::int64_t block_size = 0);
  Phase& phase() { return program_.phases.back(); }
  // Appends to the current phase.
  void emit(std::string label, ops::AnyOp definition);
  // What is emitted from here to end_loop() runs chunk by chunk. Loops do not nest.
  void begin_loop(std::int64_t chunk_rows, std::int64_t tile_rows);
  void end_loop() { in_loop_ = false; }

  const Program& program() const { return program_; }
  Program take() {
    require_no_loop();
    return std::move(program_);
  }

 private:
  bool has_host_side() const { return target_.host_side() != target_.space(); }
  TensorId add_in(Space space, Tensor tensor);
  TensorId add_twin(TensorId id);
  void require_no_loop() const;
  TensorId find(std::string_view short_name, const std::vector<TensorId>& ids) const;

  const model::ModelSpec& model_;
  const Target& target_;
  DType compute_;
  std::unordered_map<std::string_view, std::size_t> parameter_index_;  // by short name
  Program program_;
  bool in_loop_ = false;
};

}  // namespace snug::program
