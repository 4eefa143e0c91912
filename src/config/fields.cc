// Upper bounds are far above any machine, and low enough that 64-bit byte counts cannot overflow:
// batch x block <= 2^26 (see resolve.cc), 2^17 context, 2^9 layers, 2^8 heads, 2^15 width and 2^20
// tokens keep the attention matrices of all layers under 2^62 bytes. Iterations and sequences stay
// under 2^31, because the random streams count them in 32 bits.
#include "config/fields.h"

#include <algorithm>

#include "base/error.h"

namespace snug::config {
namespace {

constexpr unsigned kTrain = command_bit(Command::kTrain);
constexpr unsigned kPlan = command_bit(Command::kPlan);
constexpr unsigned kSample = command_bit(Command::kSample);
constexpr unsigned kRun = kTrain | kPlan;
constexpr unsigned kAll = kTrain | kPlan | kSample;
constexpr auto kNano = KeySource::kNanoGpt;
constexpr auto kOwn = KeySource::kSnug;
constexpr double kMaxIters = 1e9;
constexpr double kMaxBatch = 1 << 14;
constexpr double kMaxBlock = 1 << 17;

// clang-format off
constexpr Field kFields[] = {
    {"n_layer", &Config::n_layer, Group::kModel, kRun, kNano, between(1, 512),
     "transformer blocks"},
    {"n_head", &Config::n_head, Group::kModel, kRun, kNano, between(1, 256),
     "attention heads; n_embd is a multiple of it"},
    {"n_embd", &Config::n_embd, Group::kModel, kRun, kNano, between(1, 1 << 15),
     "width of the model"},
    {"block_size", &Config::block_size, Group::kModel, kRun, kNano, between(1, kMaxBlock),
     "context: tokens that the model sees at once"},
    {"vocab_size", &Config::vocab_size, Group::kModel, kRun, kOwn, between(0, 1 << 20),
     "vocabulary; 0: from the data's meta.pkl, else 50304"},
    {"bias", &Config::bias, Group::kModel, kRun, kNano, any_value(),
     "biases in Linear and LayerNorm"},
    {"dropout", &Config::dropout, Group::kModel, kRun, kNano, fraction(),
     "share of activations dropped in training"},
    {"gelu", &Config::gelu, Group::kModel, kRun, kOwn, checked(check_gelu, "erf, tanh"),
     "form of GELU: erf as in nanoGPT, tanh as in OpenAI's weights and llm.c"},

    {"dataset", &Config::dataset, Group::kData, kRun, kNano, checked(check_path, {}),
     "folder under data/ that holds train.bin and val.bin"},
    {"batch_size", &Config::batch_size, Group::kData, kRun, kNano, between(1, kMaxBatch),
     "sequences per micro-batch"},
    {"gradient_accumulation_steps", &Config::gradient_accumulation_steps, Group::kData, kRun, kNano,
     between(1, 1 << 16), "micro-batches per update"},
    {"effective_batch", &Config::effective_batch, Group::kData, kRun, kOwn, between(0, 1 << 30),
     "sequences per update; sets gradient_accumulation_steps; 0: as they multiply"},
    {"seed", &Config::seed, Group::kData, kTrain | kSample, kNano, at_least(0),
     "where all random numbers start"},

    {"learning_rate", &Config::learning_rate, Group::kLearning, kTrain, kNano, above(0),
     "highest learning rate"},
    {"max_iters", &Config::max_iters, Group::kLearning, kRun, kNano, between(0, kMaxIters),
     "number of the last update, counted from 0"},
    {"weight_decay", &Config::weight_decay, Group::kLearning, kTrain, kNano, at_least(0),
     "AdamW's decay of matrices and embeddings"},
    {"beta1", &Config::beta1, Group::kLearning, kTrain, kNano, fraction(),
     "AdamW's memory of the gradient"},
    {"beta2", &Config::beta2, Group::kLearning, kTrain, kNano, fraction(),
     "AdamW's memory of the squared gradient"},
    {"grad_clip", &Config::grad_clip, Group::kLearning, kTrain, kNano, at_least(0),
     "largest gradient norm; 0: no clipping"},
    {"decay_lr", &Config::decay_lr, Group::kLearning, kTrain, kNano, any_value(),
     "warm up, then lower the learning rate along a cosine"},
    {"warmup_iters", &Config::warmup_iters, Group::kLearning, kTrain, kNano, between(0, kMaxIters),
     "updates over which the learning rate rises"},
    {"lr_decay_iters", &Config::lr_decay_iters, Group::kLearning, kTrain, kNano,
     between(0, kMaxIters), "update at which it arrives at min_lr"},
    {"min_lr", &Config::min_lr, Group::kLearning, kTrain, kNano, at_least(0),
     "lowest learning rate, about learning_rate / 10"},

    {"out_dir", &Config::out_dir, Group::kEvaluation, kTrain | kSample, kNano,
     checked(check_path, {}), "folder of checkpoints and logs"},
    {"init_from", &Config::init_from, Group::kEvaluation, kAll, kNano,
     checked(check_init_from,
             "scratch, resume, gpt2, gpt2-medium, gpt2-large, gpt2-xl, ./PATH"),
     "where the weights start; a path: any checkpoint that `snug convert` reads"},
    {"eval_interval", &Config::eval_interval, Group::kEvaluation, kRun, kNano,
     between(1, kMaxIters), "updates between evaluations"},
    {"eval_iters", &Config::eval_iters, Group::kEvaluation, kRun, kNano, between(1, 100000),
     "batches per evaluated split"},
    {"eval_sequences", &Config::eval_sequences, Group::kEvaluation, kRun, kOwn,
     between(0, 1 << 30), "sequences per evaluated split; 0: eval_iters * batch_size"},
    {"eval_batch_size", &Config::eval_batch_size, Group::kEvaluation, kRun, kOwn,
     between(0, kMaxBatch), "sequences per evaluated batch; 0: batch_size"},
    {"eval_block_size", &Config::eval_block_size, Group::kEvaluation, kRun, kOwn,
     between(0, kMaxBlock), "context of evaluation; 0: block_size"},
    {"eval_only", &Config::eval_only, Group::kEvaluation, kRun, kNano, any_value(),
     "evaluate once and stop"},
    {"log_interval", &Config::log_interval, Group::kEvaluation, kTrain, kNano,
     between(1, kMaxIters), "updates between log lines"},
    {"always_save_checkpoint", &Config::always_save_checkpoint, Group::kEvaluation, kTrain, kNano,
     any_value(), "save after every evaluation, not only after a better one"},
    {"keep_checkpoints", &Config::keep_checkpoints, Group::kEvaluation, kTrain, kOwn,
     between(1, 100000), "checkpoints kept in out_dir"},

    {"memory_budget", &Config::memory_budget, Group::kMemory, kAll, kOwn,
     checked(check_memory_budget, "auto, 12GiB, 80%"), "memory that the run may take"},
    {"headroom", &Config::headroom, Group::kMemory, kRun, kOwn,
     checked(check_headroom, "auto, 10%, 512MiB"),
     "part of the budget that stays free; auto: 5% of a card, nothing of RAM"},
    {"card", &Config::card, Group::kMemory, kPlan, kOwn, any_value(),
     "plan for this card, see `snug cards`; empty: for this machine"},
    {"fit", &Config::fit, Group::kMemory, kRun, kOwn, any_value(),
     "let Snug choose the fastest settings that fit, keeping the weights' bits where it can"},
    {"safest", &Config::safest, Group::kMemory, kRun, kOwn, any_value(),
     "with fit: choose the fewest bytes, not the fewest seconds"},
    {"grad_checkpoint", &Config::grad_checkpoint, Group::kMemory, kRun, kOwn, any_value(),
     "recompute every block in the backward pass: less memory, more time, same result"},
    {"checkpoint_blocks", &Config::checkpoint_blocks, Group::kMemory, kRun, kOwn, between(0, 512),
     "recompute only the first n blocks, n up to n_layer"},
    {"recompute_light", &Config::recompute_light, Group::kMemory, kRun, kOwn, any_value(),
     "make layer norm outputs and GELU again in the backward pass instead of keeping them"},
    {"loss_chunk", &Config::loss_chunk, Group::kMemory, kRun, kOwn, between(0, 1 << 26),
     "rows of logits held at once; 0: chosen by Snug"},
    {"optimizer_dtype", &Config::optimizer_dtype, Group::kMemory, kRun, kOwn,
     checked(check_optimizer_dtype, "float32, bfloat16"),
     "precision of AdamW's two moments; bfloat16 halves them and changes the result"},
    {"verify_plan", &Config::verify_plan, Group::kMemory, kRun, kOwn, any_value(),
     "check that no two tensors of the plan share a byte while both are alive"},

    {"device", &Config::device, Group::kMachine, kAll, kNano,
     checked(check_device, "auto, cpu, cuda, cuda:N, emulated"), "where to run"},
    {"dtype", &Config::dtype, Group::kMachine, kAll, kNano,
     checked(check_dtype, "auto, float32, tf32, bfloat16, float16"),
     "precision of the arithmetic; tf32: float32 whose products round operands, on cards"},
    {"threads", &Config::threads, Group::kMachine, kAll, kOwn, between(0, 256),
     "threads on the CPU; 0: all cores that the process may use"},
    {"color", &Config::color, Group::kMachine, kAll, kOwn,
     checked(check_color, "auto, always, never"), "coloured output"},
    {"lang", &Config::lang, Group::kMachine, kAll, kOwn, checked(check_lang, "auto, en, zh, ja, de"),
     "language of reports and errors; auto: the locale's"},

    {"start", &Config::start, Group::kSampling, kSample, kNano, any_value(),
     "the prompt, or FILE:path of a file that holds it"},
    {"num_samples", &Config::num_samples, Group::kSampling, kSample, kNano, between(1, 1000000),
     "samples to draw"},
    {"max_new_tokens", &Config::max_new_tokens, Group::kSampling, kSample, kNano,
     between(1, 1000000), "tokens per sample"},
    {"temperature", &Config::temperature, Group::kSampling, kSample, kNano, at_least(0),
     "below 1: safer choices, above 1: wilder ones; 0: always the likeliest"},
    {"top_k", &Config::top_k, Group::kSampling, kSample, kNano, between(1, 1 << 20),
     "choose among the k likeliest tokens"},
    {"top_p", &Config::top_p, Group::kSampling, kSample, kOwn,
     Limit{.low = 0, .high = 1, .low_open = true},
     "choose among the fewest tokens that have this share of the probability; 1: all"},

    {"wandb_log", &Config::wandb_log, Group::kIgnored, 0, kNano, any_value(),
     "Weights & Biases is not written; see docs/metrics.md for the way there"},
    {"wandb_project", &Config::wandb_project, Group::kIgnored, 0, kNano, any_value(),
     "Weights & Biases is not used"},
    {"wandb_run_name", &Config::wandb_run_name, Group::kIgnored, 0, kNano, any_value(),
     "Weights & Biases is not used"},
    {"backend", &Config::backend, Group::kIgnored, 0, kNano, any_value(),
     "PyTorch's way between processes"},
    {"compile", &Config::compile, Group::kIgnored, 0, kNano, any_value(),
     "PyTorch's compiler; the kernels here are compiled already"},
};
// clang-format on

}  // namespace

std::span<const Field> all_fields() { return kFields; }

const Field* find_field(std::string_view key) {
  const auto at = std::find_if(std::begin(kFields), std::end(kFields),
                               [&](const Field& field) { return field.key == key; });
  return at == std::end(kFields) ? nullptr : at;
}

const Field& field_of(Field::Member member) {
  const auto at = std::find_if(std::begin(kFields), std::end(kFields),
                               [&](const Field& field) { return field.member == member; });
  if (at == std::end(kFields)) throw InternalError("a member of Config has no row in kFields");
  return *at;
}

std::string_view group_title(Group group) {
  switch (group) {
    case Group::kModel:
      return "Model";
    case Group::kData:
      return "Data";
    case Group::kLearning:
      return "Learning";
    case Group::kEvaluation:
      return "Evaluation and checkpoints";
    case Group::kMemory:
      return "Memory";
    case Group::kMachine:
      return "Machine";
    case Group::kSampling:
      return "Sampling";
    case Group::kIgnored:
      return "Accepted and ignored";
  }
  return "";
}

}  // namespace snug::config
