#include "program/builder.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/tensor_bytes.h"

namespace snug::program {
namespace {

constexpr std::string_view kPrefix = "transformer.";

// Norm weights and biases are few and touched elementwise: they stay float32.
DType dtype_of(const model::ParameterSpec& parameter, DType compute) {
  return parameter.shape.rank() > 1 ? compute : DType::kF32;
}

}  // namespace

ProgramBuilder::ProgramBuilder(const model::ModelSpec& model, const Target& target, DType wanted)
    : model_(model), target_(target), compute_(target.compute_dtype(wanted)) {
  program_.threads = target.threads();
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    std::string_view name = model.parameters[i].name;
    if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
    parameter_index_.emplace(name, i);
  }
}

void ProgramBuilder::add_weights() {
  for (const model::ParameterSpec& p : model_.parameters) {
    program_.weights.push_back(
        add({p.name, p.shape, dtype_of(p, compute_), Role::kWeights, Lifetime::kRun}));
  }
  program_.compute_weights = program_.weights;
}

void ProgramBuilder::add_training_state(DType moments) {
  for (const model::ParameterSpec& p : model_.parameters) {
    const TensorId weight = add({p.name, p.shape, DType::kF32, Role::kWeights, Lifetime::kRun});
    const DType computed = dtype_of(p, compute_);
    program_.weights.push_back(weight);
    program_.compute_weights.push_back(
        computed == DType::kF32 ? weight
                                : add({fmt::format("{}.{}", p.name, name_of(computed)), p.shape,
                                       computed, Role::kWeights, Lifetime::kRun}));
    program_.gradients.push_back(
        add({p.name + ".grad", p.shape, DType::kF32, Role::kGradients, Lifetime::kIteration}));
    program_.first_moments.push_back(
        add({p.name + ".exp_avg", p.shape, moments, Role::kOptimizerState, Lifetime::kRun}));
    program_.second_moments.push_back(
        add({p.name + ".exp_avg_sq", p.shape, moments, Role::kOptimizerState, Lifetime::kRun}));
  }
}

TensorId ProgramBuilder::find(std::string_view short_name, const std::vector<TensorId>& ids) const {
  const auto found = parameter_index_.find(short_name);
  if (found != parameter_index_.end()) return ids[found->second];
  if (short_name.ends_with(".bias") && !model_.bias) return kNoTensor;
  throw InternalError(fmt::format("the model has no parameter '{}'", short_name));
}

TensorId ProgramBuilder::weight(std::string_view short_name) const {
  return find(short_name, program_.compute_weights);
}

TensorId ProgramBuilder::gradient(std::string_view short_name) const {
  return find(short_name, program_.gradients);
}

TensorId ProgramBuilder::add(Tensor tensor) { return add_in(target_.space(), std::move(tensor)); }

TensorId ProgramBuilder::add_in(Space space, Tensor tensor) {
  tensor.space = space;
  program_.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(program_.tensors.size() - 1);
}

TensorId ProgramBuilder::add_twin(TensorId id) {
  Tensor twin = program_.tensor(id);
  twin.name += " (host)";
  return add_in(target_.host_side(), std::move(twin));
}

TensorId ProgramBuilder::from_host(TensorId id) {
  if (!has_host_side()) return id;
  const TensorId twin = add_twin(id);
  emit(program_.tensor(id).name + " from the host", ops::Copy{.from = twin, .to = id});
  return twin;
}

TensorId ProgramBuilder::to_host(TensorId id) {
  if (!has_host_side()) return id;
  const TensorId twin = add_twin(id);
  emit(program_.tensor(id).name + " to the host", ops::Copy{.from = id, .to = twin});
  return twin;
}

TensorId ProgramBuilder::add_staging() {
  if (!has_host_side()) return kNoTensor;
  return add_in(
      target_.host_side(),
      {"checkpoint staging", {TensorBytes::kMaxPieceBytes}, DType::kU8, Role::kIo, Lifetime::kOps});
}

TensorId ProgramBuilder::activation(std::string name, Shape shape, Role role) {
  return add({std::move(name), shape, compute_, role, Lifetime::kOps});
}

TensorId ProgramBuilder::statistic(std::string name, Shape shape) {
  return add({std::move(name), shape, DType::kF32, Role::kActivations, Lifetime::kOps});
}

Phase& ProgramBuilder::begin_phase(PhaseKind kind, bool in_iteration, std::int64_t batch_size,
                                   std::int64_t block_size) {
  require_no_loop();
  Phase next;
  next.kind = kind;
  next.in_iteration = in_iteration;
  next.batch_size = batch_size;
  next.block_size = block_size;
  program_.phases.push_back(std::move(next));
  return phase();
}

void ProgramBuilder::require_no_loop() const {
  if (in_loop_) throw InternalError("a loop was begun and not ended");
}

void ProgramBuilder::begin_loop(std::int64_t chunk_rows, std::int64_t tile_rows) {
  require_no_loop();
  const std::size_t next = phase().ops.size();
  phase().loops.push_back({next, next, chunk_rows, tile_rows});
  in_loop_ = true;
}

void ProgramBuilder::emit(std::string label, ops::AnyOp definition) {
  std::vector<ops::Op>& all = phase().ops;
  ops::Op& op = all.emplace_back(ops::Op{std::move(label), std::move(definition)});
  if (const std::string_view missing = ops::missing_operand(op); !missing.empty()) {
    throw InternalError(fmt::format("'{}' ({}) has no {}", op.label, ops::name_of(op), missing));
  }
  if (in_loop_) phase().loops.back().end_op = all.size();
  op.scratch_bytes = target_.scratch_bytes(op, shapes_of(program_, phase(), all.size() - 1));
}

}  // namespace snug::program
