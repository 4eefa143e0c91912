#include "doctor/torch/run.h"

#include <fmt/format.h>

#include "base/error.h"

namespace snug::doctor::torch {
namespace {

DType compute_dtype(const std::string& name) {
  if (name == "float32" || name == "tf32") return DType::kF32;
  if (name == "float16") return DType::kF16;
  return DType::kBF16;
}

void require(bool holds, std::string_view what) {
  if (!holds) throw ConfigError(fmt::format("PyTorch's memory cannot be modelled: {}", what));
}

}  // namespace

TorchRun torch_run(const config::Config& config, std::int64_t vocab_size) {
  TorchRun run;
  static_cast<config::GptSizes&>(run) = config;
  run.vocab_size = vocab_size;
  run.batch_size = config.batch_size;
  run.eval_batch_size = config.eval_batch_size > 0 ? config.eval_batch_size : config.batch_size;
  run.eval_block_size = config.eval_block_size > 0 ? config.eval_block_size : config.block_size;
  run.accumulation_steps = config.gradient_accumulation_steps;
  run.clips_gradients = config.grad_clip != 0;
  run.compute = compute_dtype(config.dtype);
  run.compiled = config.compile;
  run.checkpoint_blocks = config.grad_checkpoint ? config.n_layer : config.checkpoint_blocks;
  run.resumed = config.init_from == "resume";
  check_torch_run(run);
  return run;
}

void check_torch_run(const TorchRun& run) {
  require(run.n_layer > 0 && run.n_head > 0 && run.n_embd > 0, "the model has no size");
  require(run.n_embd % run.n_head == 0, "n_embd is not divisible by n_head");
  require(run.block_size > 0 && run.vocab_size > 0, "block_size and vocab_size must be positive");
  require(run.batch_size > 0 && run.accumulation_steps > 0, "the batch is empty");
  require(run.eval_batch_size > 0 && run.eval_block_size > 0, "the evaluation batch is empty");
  require(run.eval_block_size <= run.block_size, "eval_block_size is larger than block_size");
  require(run.checkpoint_blocks >= 0 && run.checkpoint_blocks <= run.n_layer,
          "checkpoint_blocks is not between 0 and n_layer");
}

}  // namespace snug::doctor::torch
