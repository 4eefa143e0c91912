// Every setting of a run, and how it is read. One field table (fields.cc) drives reading of config
// files, --key=value, --help, the echo of the resolved config and docs/keys.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/gpt_sizes.h"

namespace snug::config {

enum class Command { kTrain, kPlan, kSample };

// Defaults are nanoGPT's; 0 or "auto" in our own keys means "derived", see resolve().
struct Config : GptSizes {
  // nanoGPT's train.py
  std::string out_dir = "out";
  std::int64_t eval_interval = 2000;
  std::int64_t log_interval = 1;
  std::int64_t eval_iters = 200;
  bool eval_only = false;
  bool always_save_checkpoint = true;
  std::string init_from = "scratch";  // sample: "resume"
  bool wandb_log = false;
  std::string wandb_project = "owt";
  std::string wandb_run_name = "gpt2";
  std::string dataset = "openwebtext";
  std::int64_t gradient_accumulation_steps = 40;
  std::int64_t batch_size = 12;
  double learning_rate = 6e-4;
  std::int64_t max_iters = 600000;
  double weight_decay = 1e-1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double grad_clip = 1.0;
  bool decay_lr = true;
  std::int64_t warmup_iters = 2000;
  std::int64_t lr_decay_iters = 600000;
  double min_lr = 6e-5;
  std::string backend = "nccl";
  std::string device = "auto";
  std::string dtype = "auto";
  bool compile = true;

  // nanoGPT's sample.py
  std::string start = "\n";
  std::int64_t num_samples = 10;
  std::int64_t max_new_tokens = 500;
  double temperature = 0.8;
  std::int64_t top_k = 200;
  double top_p = 1;  // Snug's own

  // Snug's own
  std::int64_t seed = 1337;
  std::int64_t eval_batch_size = 0;         // 0: batch_size
  std::int64_t eval_block_size = 0;         // 0: block_size
  bool grad_checkpoint = false;             // recompute every block in backward
  std::int64_t checkpoint_blocks = 0;       // recompute the first n blocks in backward
  bool recompute_light = true;              // make norm outputs and GELU again in backward
  std::int64_t loss_chunk = 0;              // rows of logits held at once; 0: chosen by the program
  std::string optimizer_dtype = "float32";  // of AdamW's two moments
  std::int64_t effective_batch = 0;         // 0: batch_size * gradient_accumulation_steps
  std::int64_t eval_sequences = 0;          // 0: eval_iters * batch_size
  std::string memory_budget = "auto";       // 12GiB, 80%, auto
  std::string headroom = "auto";            // of the budget that stays free; see card_budget()
  std::string card;                         // plan for this card; empty: for this machine
  bool fit = false;                         // apply the best fix
  bool safest = false;                      // prefer the fewest bytes to the fewest seconds
  bool verify_plan = false;                 // check the plan; debug builds always do
  std::int64_t keep_checkpoints = 2;
  std::int64_t threads = 0;    // 0: all cores that this process may use
  std::string color = "auto";  // auto, always, never
  std::string lang = "auto";   // of reports and errors: auto (the locale), en, zh, ja, de
};

// Where a value came from: a default, a config file's line, the command line, a checkpoint, --fit.
struct Origin {
  enum class Kind { kDefault, kFile, kCommandLine, kCheckpoint, kFit } kind = Kind::kDefault;
  std::string file;  // kFile
  int line = 0;      // kFile
  std::string text;  // the source line (a long one cut around the value), or the argument
  int column = 0;    // the value's first byte in text
  int width = 0;     // its bytes; 0: nothing to point at
};

struct LoadedConfig {
  Config values;
  std::map<std::string, Origin, std::less<>> origins;  // keys that were set, by their last setting
  std::vector<std::string> notices;                    // one line each, e.g. ignored keys
  Command command = Command::kTrain;                   // which resolve() checks for
  // Keys that resolve() filled in, with the value it gave as text. A key that still has that value
  // is derived anew by the next resolve(); one that was changed since is left alone.
  std::map<std::string, std::string, std::less<>> derived;

  bool is_set(std::string_view key) const { return origins.find(key) != origins.end(); }
};

// The values before any argument is read; `sample` differs in init_from.
Config default_config(Command command);

// Reads arguments left to right as nanoGPT does: a config file's path, or --key=value; later wins.
// Throws ConfigError with file, line, text and caret. The values are as they were written.
LoadedConfig read_config(Command command, std::span<const std::string> arguments);

// The same, and resolved: ranges and relations are checked, derived values filled in.
LoadedConfig load_config(Command command, std::span<const std::string> arguments);

// Checks the range of every key, fills the derived values (eval_batch_size 0 -> batch_size,
// grad_checkpoint -> checkpoint_blocks = n_layer, dtype "auto", the sizes for init_from =
// 'gpt2*') and checks the relations between keys. Idempotent. Called by load_config, and again
// after a checkpoint has overridden model keys. What stays for the program to decide: device
// "auto", vocab_size, loss_chunk and threads 0, memory_budget.
void resolve(LoadedConfig& config);

// The effective batch: training sequences per update, whatever the micro-batch.
inline std::int64_t effective_batch_of(const Config& config) {
  return config.batch_size * config.gradient_accumulation_steps;
}

// Sequences per evaluated split.
inline std::int64_t evaluated_sequences(const Config& config) {
  return config.eval_sequences > 0 ? config.eval_sequences : config.eval_iters * config.batch_size;
}

// A key with another value, written as Python writes it.
struct Change {
  std::string key, before, after;
};
// The fewest keys to set so that `config` resolves to `after`: derived values follow by themselves.
std::vector<Change> changes_to(const LoadedConfig& config, const Config& after);

// Tokens of one micro-batch; see the bounds in fields.cc.
constexpr std::int64_t kMaxTokensPerBatch = std::int64_t{1} << 26;

// A ConfigError in the usual form, which points at the line or argument that set `key`.
[[noreturn]] void throw_config_error(const LoadedConfig& config, std::string_view key,
                                     std::string_view what, std::string_view advice);

// The resolved values as people read them ("key = value" lines, grouped, set keys marked with their
// origin; itself a valid config file), as JSON text with one member per key, and back from it.
// Reading: a missing member keeps its default; an unknown one is ignored and, if `notices` is
// given, named there; a wrong type throws ConfigError. Ranges are checked by resolve().
std::string echo_config(const LoadedConfig& config);
std::string config_to_json(const Config& config);
Config config_from_json(const std::string& json, std::vector<std::string>* notices = nullptr);

// Generated texts: the key section of `snug COMMAND --help`, docs/keys.md, the keys for completion.
std::string keys_help(Command command, int columns);
std::string keys_markdown();
std::vector<std::string> all_keys();

}  // namespace snug::config
