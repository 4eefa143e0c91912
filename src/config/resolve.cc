// Ranges, derived values and the relations between keys.
#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/integers.h"
#include "config/config.h"
#include "config/diagnostic.h"
#include "config/fields.h"
#include "config/head_sizes.h"
#include "config/pretrained.h"

namespace snug::config {
namespace {

void notice_once(LoadedConfig& config, std::string notice) {
  auto& notices = config.notices;
  if (std::find(notices.begin(), notices.end(), notice) == notices.end()) {
    notices.push_back(std::move(notice));
  }
}

// Points at the first of the keys that was set explicitly.
[[noreturn]] void fail(const LoadedConfig& config, std::initializer_list<Field::Member> members,
                       const std::string& what, const std::string& advice) {
  std::string_view blamed = field_of(*members.begin()).key;
  for (const Field::Member member : members) {
    const std::string_view key = field_of(member).key;
    if (!config.is_set(key)) continue;
    blamed = key;
    break;
  }
  throw_config_error(config, blamed, what, advice);
}

void check_ranges(const LoadedConfig& config) {
  for (const Field& field : all_fields()) {
    try {
      check_range(config.values, field);
    } catch (const Fault& fault) {
      throw_config_error(config, field.key, fault.what, fault.advice);
    }
  }
}

// Sampling reads a trained model; a config that is shared with training may say 'scratch'.
void settle_start_of_sampling(LoadedConfig& config) {
  if (config.command != Command::kSample || config.values.init_from != "scratch") return;
  config.values.init_from = "resume";
  notice_once(config, "init_from = 'scratch' is for training: sampling reads the checkpoint");
}

void derive_from(LoadedConfig& config, std::int64_t Config::*member, std::int64_t Config::*from) {
  const Field& field = field_of(member);
  if (config.values.*member != 0 && !is_derived(config, field)) return;
  set_derived(config, field, config.values.*from);
}

void derive_dtype(LoadedConfig& config) {
  const Field& field = field_of(&Config::dtype);
  if (config.values.dtype != "auto" && !is_derived(config, field)) return;
  const std::string& device = config.values.device;
  const bool cuda =
      device.starts_with("cuda") || device == "emulated" || !config.values.card.empty();
  set_derived(config, field, std::string(cuda ? "bfloat16" : "float32"));
}

void derive_checkpoint_blocks(LoadedConfig& config) {
  Config& values = config.values;
  const Field& field = field_of(&Config::checkpoint_blocks);
  const bool ours = is_derived(config, field);
  if (!values.grad_checkpoint) {
    if (ours) values.checkpoint_blocks = 0;
    if (ours) config.derived.erase(std::string(field.key));
    return;
  }
  const bool explicit_other =
      config.is_set(field.key) && values.checkpoint_blocks != values.n_layer;
  if (explicit_other && !ours) {
    throw_config_error(config, field.key,
                       fmt::format("checkpoint_blocks = {} contradicts grad_checkpoint = True",
                                   values.checkpoint_blocks),
                       fmt::format("grad_checkpoint recomputes all {} blocks: keep one of the two",
                                   values.n_layer));
  }
  set_derived(config, field, values.n_layer);
}

// An accumulation that was asked for is not dropped without a message.
void tell_other_accumulation(LoadedConfig& config, const Field& steps, std::int64_t needed) {
  const std::int64_t given = config.values.gradient_accumulation_steps;
  if (!config.is_set(steps.key) || is_derived(config, steps) || given == needed) return;
  notice_once(config,
              fmt::format("gradient_accumulation_steps = {} is not used: effective_batch = "
                          "{} in micro-batches of {} takes {}",
                          given, config.values.effective_batch, config.values.batch_size, needed));
}

// A requested effective batch determines the accumulation; it never changes the micro-batch.
void derive_accumulation(LoadedConfig& config) {
  const Config& values = config.values;
  if (values.effective_batch == 0) return;
  const std::int64_t whole = values.effective_batch, micro = values.batch_size;
  if (whole % micro != 0) {
    const std::int64_t up = ceil_div(whole, micro) * micro;
    fail(config, {&Config::effective_batch, &Config::batch_size},
         fmt::format("effective_batch = {} cannot be split into micro-batches of batch_size = {}",
                     whole, micro),
         fmt::format("batch_size = {} divides it; effective_batch = {} would be {} micro-batches",
                     nearest_divisor(whole, micro), up, up / micro));
  }
  const Field& steps = field_of(&Config::gradient_accumulation_steps);
  if (!steps.limit.allows(static_cast<double>(whole / micro))) {
    fail(config, {&Config::effective_batch, &Config::batch_size},
         fmt::format("effective_batch = {} in micro-batches of {} is {} of them", whole, micro,
                     with_thousands(whole / micro)),
         fmt::format("gradient_accumulation_steps takes {}: raise batch_size",
                     limit_text(steps.limit)));
  }
  tell_other_accumulation(config, steps, whole / micro);
  set_derived(config, steps, whole / micro);
}

void check_heads(const LoadedConfig& config) {
  const std::int64_t width = config.values.n_embd, heads = config.values.n_head;
  if (width % heads == 0) return;
  const std::int64_t fitting = nearest_divisor(width, heads);
  fail(config, {&Config::n_embd, &Config::n_head},
       fmt::format("n_embd = {} is not divisible by n_head = {}", width, heads),
       fmt::format("each head needs a whole width: n_head = {} keeps {} wide ({} per head), "
                   "n_embd = {} keeps {} heads",
                   fitting, width, width / fitting, nearest_width(width, heads), heads));
}

void check_checkpoint_blocks(const LoadedConfig& config) {
  const Config& values = config.values;
  if (values.checkpoint_blocks <= values.n_layer) return;
  fail(config, {&Config::checkpoint_blocks, &Config::n_layer},
       fmt::format("checkpoint_blocks = {} is more than n_layer = {}", values.checkpoint_blocks,
                   values.n_layer),
       fmt::format("the model has {0} blocks to recompute: at most {0}", values.n_layer));
}

void check_eval_block(const LoadedConfig& config) {
  const Config& values = config.values;
  if (values.eval_block_size <= values.block_size) return;
  fail(config, {&Config::eval_block_size, &Config::block_size},
       fmt::format("eval_block_size = {} is longer than block_size = {}", values.eval_block_size,
                   values.block_size),
       fmt::format("the model has {0} positions: evaluate with at most {0}", values.block_size));
}

void check_tokens(const LoadedConfig& config) {
  const Config& values = config.values;
  const std::int64_t tokens = values.batch_size * values.block_size;
  if (tokens > kMaxTokensPerBatch) {
    fail(config, {&Config::batch_size, &Config::block_size},
         fmt::format("batch_size = {} times block_size = {} is {} tokens at once",
                     values.batch_size, values.block_size, with_thousands(tokens)),
         fmt::format(
             "at most {} go together: a smaller batch with more accumulation trains the same",
             with_thousands(kMaxTokensPerBatch)));
  }
  if (values.eval_batch_size * values.eval_block_size > kMaxTokensPerBatch) {
    fail(config, {&Config::eval_batch_size, &Config::eval_block_size},
         fmt::format("an evaluation batch of {} x {} tokens is too large", values.eval_batch_size,
                     values.eval_block_size),
         fmt::format("at most {} tokens go together", with_thousands(kMaxTokensPerBatch)));
  }
  std::int64_t total = 0;
  if (__builtin_mul_overflow(tokens * values.gradient_accumulation_steps, values.max_iters + 1,
                             &total)) {
    fail(config, {&Config::max_iters, &Config::gradient_accumulation_steps},
         "the run has more tokens than 64 bits count", "lower max_iters or the batch");
  }
}

void check_schedule(LoadedConfig& config) {
  const Config& values = config.values;
  if (!values.decay_lr || config.command == Command::kSample) return;
  const std::int64_t warmup = values.warmup_iters, decay = values.lr_decay_iters;
  const bool reached = values.max_iters >= warmup && !values.eval_only;
  if (reached && warmup == decay) {
    fail(config, {&Config::lr_decay_iters, &Config::warmup_iters},
         fmt::format("lr_decay_iters = {} leaves no decay after warmup_iters = {}", decay, warmup),
         "nanoGPT divides by zero there: raise lr_decay_iters, or set decay_lr = False");
  }
  if (config.command != Command::kTrain || values.eval_only) return;
  if (reached && decay < warmup) {
    notice_once(config, fmt::format("lr_decay_iters = {} is less than warmup_iters = {}: the rate "
                                    "falls to min_lr right after the warmup",
                                    decay, warmup));
  }
  if (!reached) {
    notice_once(config, fmt::format("max_iters = {} ends within warmup_iters = {}: the rate never "
                                    "arrives at learning_rate",
                                    values.max_iters, warmup));
  }
  if (values.min_lr > values.learning_rate) {
    notice_once(config, fmt::format("min_lr = {} is above learning_rate = {}: the rate rises",
                                    values.min_lr, values.learning_rate));
  }
}

}  // namespace

void throw_config_error(const LoadedConfig& config, std::string_view key, std::string_view what,
                        std::string_view advice) {
  const auto origin = config.origins.find(key);
  throw_at(origin == config.origins.end() ? Origin{} : origin->second,
           {std::string(what), std::string(advice)});
}

void resolve(LoadedConfig& config) {
  check_ranges(config);
  settle_start_of_sampling(config);
  apply_pretrained(config);
  derive_from(config, &Config::eval_batch_size, &Config::batch_size);
  derive_from(config, &Config::eval_block_size, &Config::block_size);
  derive_accumulation(config);
  derive_dtype(config);
  derive_checkpoint_blocks(config);
  check_heads(config);
  check_checkpoint_blocks(config);
  check_eval_block(config);
  check_tokens(config);
  check_schedule(config);
}

}  // namespace snug::config
