// The program of a training run: load, evaluation, micro-step, update, save.
#pragma once

#include "config/config.h"
#include "model/model_spec.h"
#include "program/target.h"

namespace snug::program {

// The settings that shape memory. Only E, the number of sequences per iteration, weight_decay and
// the two dtypes can change the trained weights.
struct TrainingShape {
  std::int64_t batch_size = 1;
  std::int64_t accumulation_steps = 1;
  std::int64_t block_size = 1;
  std::int64_t eval_batch_size = 1;
  std::int64_t eval_block_size = 1;
  std::int64_t checkpoint_blocks = 0;  // the first n blocks are recomputed in backward
  std::int64_t loss_chunk = 0;         // wanted rows of logits; 0: chosen
  double weight_decay = 0;
  bool eval_only = false;       // weights and evaluation, nothing else
  bool recompute_light = true;  // norm outputs and GELU are made again in backward
  DType compute = DType::kF32;  // of activations; the target has the last word
  DType moments = DType::kF32;  // of AdamW's state

  std::int64_t sequences_per_iteration() const { return batch_size * accumulation_steps; }
};

TrainingShape training_shape(const config::Config& config);

Program build_training_program(const model::ModelSpec& model, const TrainingShape& shape,
                               const Target& target);

}  // namespace snug::program
