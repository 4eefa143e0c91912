#include "program/training_program.h"

#include <algorithm>

#include "program/block.h"
#include "program/loss_head.h"

namespace snug {
namespace {

using Mode = BlockEmitter::Mode;

// The token embedding's gradient, kept apart from the loss head's share of the same weight: the two
// reach a sequence at different times, and adding both into one tensor would make the order of its
// sums depend on the micro-batch. It holds a row per token that the iteration can have seen.
struct EmbedRows {
  TensorId rows, slot, row_token, row_count;
};

EmbedRows add_embed_rows(ProgramBuilder& builder, const TrainingShape& shape) {
  const ModelSpec& model = builder.model();
  const std::int64_t tokens = checked_mul(shape.sequences_per_iteration(), shape.block_size);
  const std::int64_t capacity = std::min(model.vocab_size, tokens);
  const auto add = [&](const char* name, Shape extent, DType dtype) {
    return builder.add({name, extent, dtype, Role::kGradients, Lifetime::kIteration});
  };
  EmbedRows embed;
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
  phase.tokens = add_io(builder, "tokens", extent, DType::kI32);
  phase.targets = add_io(builder, "targets", extent, DType::kI32);
  phase.losses = add_io(builder, "losses", extent, DType::kF32);
}

TensorId emit_embed(ProgramBuilder& builder, bool training) {
  const Phase& phase = builder.phase();
  const ModelSpec& model = builder.model();
  const TensorId x =
      builder.activation("embedding", {phase.batch_size, phase.block_size, model.n_embd});
  Op op{OpKind::kEmbed,
        "embedding",
        {phase.tokens, builder.weight("wte.weight"), builder.weight("wpe.weight")},
        {x}};
  if (training) op.dropout_site = dropout_site(model, model.n_layer, 0);
  builder.emit(std::move(op));
  return x;
}

void emit_evaluate(ProgramBuilder& builder, const TrainingShape& shape) {
  builder.begin_phase(PhaseKind::kEvaluate, false, shape.eval_batch_size, shape.eval_block_size);
  add_batch_io(builder);
  TensorId stream = emit_embed(builder, false);
  for (std::int64_t layer = 0; layer < builder.model().n_layer; ++layer) {
    stream = BlockEmitter(builder, layer, Mode::kInference).forward(stream, nullptr);
  }
  emit_loss(builder, stream, shape.loss_chunk);
}

void emit_micro_step(ProgramBuilder& builder, const TrainingShape& shape, const EmbedRows& embed) {
  const ModelSpec& model = builder.model();
  builder.begin_phase(PhaseKind::kMicroStep, true, shape.batch_size, shape.block_size);
  add_batch_io(builder);
  TensorId stream = emit_embed(builder, true);
  std::vector<SavedBlock> saved(static_cast<std::size_t>(model.n_layer));
  for (std::int64_t layer = 0; layer < model.n_layer; ++layer) {
    BlockEmitter block(builder, layer, Mode::kTraining);
    // What a checkpointed block keeps would be thrown away.
    block.keep_all(!shape.recompute_light && layer >= shape.checkpoint_blocks);
    stream = block.forward(stream, &saved[static_cast<std::size_t>(layer)]);
  }
  const TensorId dstream = emit_loss_and_gradient(builder, stream, shape.loss_chunk);
  for (std::int64_t layer = model.n_layer - 1; layer >= 0; --layer) {
    BlockEmitter block(builder, layer, Mode::kTraining);
    block.keep_all(!shape.recompute_light);
    SavedBlock& of_block = saved[static_cast<std::size_t>(layer)];
    if (layer < shape.checkpoint_blocks) of_block = block.recompute(of_block.input);
    block.backward(of_block, dstream);
  }
  const TensorId dwpe = builder.gradient("wpe.weight");
  Op op{OpKind::kEmbedBackward,
        "embedding backward",
        {builder.phase().tokens, dstream, dwpe, embed.rows, embed.slot, embed.row_token,
         embed.row_count},
        {dstream, dwpe, embed.rows, embed.slot, embed.row_token, embed.row_count}};
  op.dropout_site = dropout_site(model, model.n_layer, 0);
  builder.emit(std::move(op));
}

void emit_begin(ProgramBuilder& builder, const EmbedRows& embed,
                const std::vector<TensorId>& gradients) {
  builder.begin_phase(PhaseKind::kBeginIteration, true);
  builder.emit({OpKind::kZero, "gradients", {}, gradients});
  builder.emit(
      {OpKind::kResetEmbedRows, "embedding rows", {}, {embed.slot, embed.row_count, embed.rows}});
}

void emit_update(ProgramBuilder& builder, const Program& program, const TrainingShape& shape,
                 const EmbedRows& embed) {
  Phase& phase = builder.begin_phase(PhaseKind::kUpdate, true);
  phase.norm = add_io(builder, "gradient norm", {1}, DType::kF64);
  const TensorId norm = phase.norm, dwte = builder.gradient("wte.weight");
  builder.emit({OpKind::kMergeEmbedRows,
                "embedding rows",
                {embed.rows, embed.row_token, embed.row_count, dwte},
                {dwte}});
  builder.emit({OpKind::kGradientNorm, "gradient norm", program.gradients, {norm}});
  for (std::size_t i = 0; i < program.weights.size(); ++i) {
    const TensorId w = program.weights[i], m = program.first_moments[i],
                   v = program.second_moments[i];
    const ParameterSpec& parameter = builder.model().parameters[i];
    Op op{OpKind::kAdamW,
          "AdamW " + parameter.name,
          {w, program.gradients[i], m, v, norm},
          {w, m, v, program.compute_weights[i] == w ? kNoTensor : program.compute_weights[i]}};
    op.parameter_index = static_cast<std::int64_t>(i);
    if (parameter.decays) op.weight_decay = shape.weight_decay;
    builder.emit(std::move(op));
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
  builder.emit({OpKind::kCheckpointRead, "read checkpoint", {}, checkpointed(program)});
  Op cast{OpKind::kCast, "copies for the arithmetic", {}, {}};
  for (std::size_t i = 0; i < program.weights.size(); ++i) {
    if (program.compute_weights[i] == program.weights[i]) continue;
    cast.reads.push_back(program.weights[i]);
    cast.writes.push_back(program.compute_weights[i]);
  }
  if (!cast.reads.empty()) builder.emit(std::move(cast));
}

}  // namespace

TrainingShape training_shape(const Config& config) {
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

Program build_training_program(const ModelSpec& model, const TrainingShape& shape,
                               const Target& target) {
  ProgramBuilder builder(model, target, shape.compute);
  shape.eval_only ? builder.add_weights() : builder.add_training_state(shape.moments);
  const Program& program = builder.program();
  emit_load(builder, program);
  emit_evaluate(builder, shape);
  if (shape.eval_only) return builder.take();
  const EmbedRows embed = add_embed_rows(builder, shape);
  emit_begin(builder, embed, program.gradients);
  emit_micro_step(builder, shape, embed);
  emit_update(builder, program, shape, embed);
  builder.begin_phase(PhaseKind::kSave, false);
  builder.emit({OpKind::kCheckpointWrite, "write checkpoint", checkpointed(program), {}});
  return builder.take();
}

}  // namespace snug
