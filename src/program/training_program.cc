#include "program/training_program.h"

#include <algorithm>

#include "program/loss_head.h"
#include "program/network.h"

namespace snug::program {
namespace {

// The token embedding's gradient, kept apart from the loss head's share of the same weight: the two
// reach a sequence at different times, and adding both into one tensor would make the order of its
// sums depend on the micro-batch. It holds a row per token that the iteration can have seen.
ops::EmbedRows add_embed_rows(ProgramBuilder& builder, const TrainingShape& shape) {
  const model::ModelSpec& model = builder.model();
  const std::int64_t tokens = checked_mul(shape.sequences_per_iteration(), shape.block_size);
  const std::int64_t capacity = std::min(model.vocab_size, tokens);
  const auto add = [&](const char* name, Shape extent, DType dtype) {
    return builder.add({name, extent, dtype, Role::kGradients, Lifetime::kIteration});
  };
  ops::EmbedRows embed;
  embed.rows = add("wte.embedding_rows.grad", {capacity, model.n_embd}, DType::kF32);
  embed.slot = add("wte.embedding_rows.slot", {model.vocab_size}, DType::kI32);
  embed.row_token = add("wte.embedding_rows.token", {capacity}, DType::kI32);
  embed.row_count = add("wte.embedding_rows.count", {1}, DType::kI32);
  return embed;
}

TensorId add_io(ProgramBuilder& builder, const char* name, Shape shape, DType dtype) {
  return builder.add({name, shape, dtype, Role::kIo, Lifetime::kPhase});
}

void add_batch_io(ProgramBuilder& builder) {
  Phase& phase = builder.phase();
  const Shape extent{phase.batch_size, phase.block_size};
  phase.io.tokens = add_io(builder, "tokens", extent, DType::kI32);
  phase.io.targets = add_io(builder, "targets", extent, DType::kI32);
  phase.io.losses = add_io(builder, "losses", extent, DType::kF32);
  phase.host.tokens = builder.from_host(phase.io.tokens);
  phase.host.targets = builder.from_host(phase.io.targets);
}

// Right after the loss head: where the host cannot look, it has them while the rest still runs.
void hand_out_losses(ProgramBuilder& builder) {
  Phase& phase = builder.phase();
  phase.host.losses = builder.to_host(phase.io.losses);
}

void emit_evaluate(ProgramBuilder& builder, const TrainingShape& shape) {
  const model::ModelSpec& model = builder.model();
  builder.begin_phase(PhaseKind::kEvaluate, false, shape.eval_batch_size, shape.eval_block_size);
  add_batch_io(builder);
  const auto pass = model.network->begin(builder, PassMode::kInference);
  TensorId stream = pass->embed();
  for (std::int64_t layer = 0; layer < model.n_layer; ++layer) {
    stream = pass->forward(layer, stream, false);
  }
  emit_loss(builder, *pass, pass->final_norm(stream), shape.loss_chunk);
  hand_out_losses(builder);
}

void emit_micro_step(ProgramBuilder& builder, const TrainingShape& shape,
                     const ops::EmbedRows& embed) {
  const model::ModelSpec& model = builder.model();
  builder.begin_phase(PhaseKind::kMicroStep, true, shape.batch_size, shape.block_size);
  add_batch_io(builder);
  const auto pass = model.network->begin(builder, PassMode::kTraining);
  const bool keep_all = !shape.recompute_light;
  const auto is_checkpointed = [&](std::int64_t layer) { return layer < shape.checkpoint_blocks; };
  TensorId stream = pass->embed();
  for (std::int64_t layer = 0; layer < model.n_layer; ++layer) {
    // What a checkpointed block keeps would be thrown away.
    stream = pass->forward(layer, stream, keep_all && !is_checkpointed(layer));
  }
  const TensorId normed = pass->final_norm(stream);
  emit_loss_and_gradient(builder, *pass, normed, shape.loss_chunk);
  hand_out_losses(builder);
  const TensorId dstream = pass->final_norm_backward(normed);
  for (std::int64_t layer = model.n_layer - 1; layer >= 0; --layer) {
    pass->backward(layer, dstream, is_checkpointed(layer), keep_all);
  }
  pass->embed_backward(dstream, embed);
}

void emit_begin(ProgramBuilder& builder, const ops::EmbedRows& embed,
                const std::vector<TensorId>& gradients) {
  builder.begin_phase(PhaseKind::kBeginIteration, true);
  builder.emit("gradients", ops::Zero{.tensors = gradients});
  builder.emit(
      "embedding rows",
      ops::ResetEmbedRows{.slot = embed.slot, .row_count = embed.row_count, .rows = embed.rows});
}

void emit_update(ProgramBuilder& builder, const Program& program, const TrainingShape& shape,
                 const ops::EmbedRows& embed) {
  Phase& phase = builder.begin_phase(PhaseKind::kUpdate, true);
  phase.io.norm = add_io(builder, "gradient norm", {1}, DType::kF64);
  const TensorId norm = phase.io.norm;
  const TensorId dwte = builder.gradient(builder.model().network->token_embedding());
  builder.emit("embedding rows", ops::MergeEmbedRows{.rows = embed.rows,
                                                     .row_token = embed.row_token,
                                                     .row_count = embed.row_count,
                                                     .dwte = dwte});
  builder.emit("gradient norm", ops::GradientNorm{.gradients = program.gradients, .norm = norm});
  // Whether the update counts is known before it is done: the host goes on while AdamW runs.
  phase.host.norm = builder.to_host(norm);
  for (std::size_t i = 0; i < program.weights.size(); ++i) {
    const model::ParameterSpec& parameter = builder.model().parameters[i];
    const TensorId weight = program.weights[i], copy = program.compute_weights[i];
    builder.emit("AdamW " + parameter.name,
                 ops::AdamW{.weight = weight,
                            .gradient = program.gradients[i],
                            .m = program.first_moments[i],
                            .v = program.second_moments[i],
                            .norm = norm,
                            .compute_copy = copy == weight ? kNoTensor : copy,
                            .weight_decay = parameter.decays ? shape.weight_decay : 0,
                            .parameter_index = static_cast<std::int64_t>(i)});
  }
}

std::vector<TensorId> checkpointed(const Program& program) {
  std::vector<TensorId> all = program.weights;
  all.insert(all.end(), program.first_moments.begin(), program.first_moments.end());
  all.insert(all.end(), program.second_moments.begin(), program.second_moments.end());
  return all;
}

void emit_load(ProgramBuilder& builder, const Program& program) {
  builder.begin_phase(PhaseKind::kLoad, false);
  builder.emit("read checkpoint", ops::CheckpointRead{.tensors = checkpointed(program),
                                                      .staging = builder.add_staging()});
  ops::Cast cast;
  for (std::size_t i = 0; i < program.weights.size(); ++i) {
    if (program.compute_weights[i] == program.weights[i]) continue;
    cast.weights.ids.push_back(program.weights[i]);
    cast.copies.ids.push_back(program.compute_weights[i]);
  }
  if (!cast.weights.ids.empty()) builder.emit("copies for the arithmetic", std::move(cast));
}

}  // namespace

TrainingShape training_shape(const config::Config& config) {
  TrainingShape shape;
  shape.batch_size = config.batch_size;
  shape.accumulation_steps = config.gradient_accumulation_steps;
  shape.block_size = config.block_size;
  shape.eval_batch_size = config.eval_batch_size;
  shape.eval_block_size = config.eval_block_size;
  shape.checkpoint_blocks = config.checkpoint_blocks;
  shape.recompute_light = config.recompute_light;
  shape.loss_chunk = config.loss_chunk;
  shape.compute = compute_dtype_named(config.dtype);
  shape.moments = compute_dtype_named(config.optimizer_dtype);
  shape.weight_decay = config.weight_decay;
  shape.eval_only = config.eval_only;
  return shape;
}

Program build_training_program(const model::ModelSpec& model, const TrainingShape& shape,
                               const Target& target) {
  ProgramBuilder builder(model, target, shape.compute);
  shape.eval_only ? builder.add_weights() : builder.add_training_state(shape.moments);
  const Program& program = builder.program();
  emit_load(builder, program);
  emit_evaluate(builder, shape);
  if (shape.eval_only) return builder.take();
  const ops::EmbedRows embed = add_embed_rows(builder, shape);
  emit_begin(builder, embed, program.gradients);
  emit_micro_step(builder, shape, embed);
  emit_update(builder, program, shape, embed);
  builder.begin_phase(PhaseKind::kSave, false);
  builder.emit("write checkpoint", ops::CheckpointWrite{.tensors = checkpointed(program),
                                                        .staging = builder.add_staging()});
  return builder.take();
}

}  // namespace snug::program
