#include "cli/help.h"

#include <fmt/format.h>

#include "cli/cli.h"
#include "config/config.h"

namespace snug::cli {
namespace {

constexpr int kColumns = 80;

}  // namespace

std::string overview_help() {
  std::string text =
      "snug: GPT training that fits the memory you have.\n\n"
      "Takes nanoGPT's configs and data as they are. Every byte is planned before the\n"
      "first step, and the plan is the allocation: a run that starts never dies of\n"
      "memory.\n\n"
      "  snug COMMAND [config.py ...] [--key=value ...]\n\n";
  for (const CommandRow& row : commands())
    text += fmt::format("  {:<12}{}\n", row.name, row.summary);
  return text +
         "\nFirst steps:\n"
         "  snug prepare bpe input.txt data/mine         your own text as training data\n"
         "  snug plan  --dataset=mine --n_layer=6 ...    what a run needs, to the byte\n"
         "  snug train --dataset=mine --n_layer=6 ...    train\n"
         "  snug sample --start=\"Once\"                   let it write\n\n"
         "`snug COMMAND --help` shows the settings of a command.\n"
         "Exit codes: 0 done, 2 wrong usage or config, 3 does not fit, 4 bad or missing\n"
         "            data, 5 device or system failure, 1 a bug of ours, 128 + n stopped\n"
         "            by signal n (Ctrl-C: 130)\n";
}

std::string train_help() {
  return "snug train [config.py ...] [--key=value ...]\n\n"
         "Trains a GPT as nanoGPT's train.py does, from the same config files and the same\n"
         "data under data/<dataset>/. Arguments are read from left to right; the later one\n"
         "wins. "
         "Ctrl-C saves and stops; --init_from=resume goes on, bit for bit.\n\n"
         "  --progress=HOW  bar (redrawn, on a terminal), plain (a line every ten\n"
         "                  seconds), none\n"
         "  --quiet         warnings and errors only\n"
         "  --profile=FILE  a trace of the first three iterations, op by op, for\n"
         "                  https://ui.perfetto.dev\n\n"
         "  snug train config/train_shakespeare_char.py --device=cpu --max_iters=2000\n"
         "  snug train config/train_shakespeare_char.py --init_from=resume\n\n" +
         config::keys_help(config::Command::kTrain, kColumns);
}

std::string plan_help() {
  return "snug plan [config.py ...] [--key=value ...] [--json] [--html=FILE]\n\n"
         "Shows what training with these settings needs, part by part and phase by phase,\n"
         "whether it fits, how long it takes, and what to change, best first. Needs no\n"
         "device. Exit code 0 fits, 3 does not.\n\n"
         "  --json          one JSON object instead of the report\n"
         "  --html=FILE     also a page with the memory over the step, fix by fix\n"
         "  --fit           shows the plan with the best fix applied\n"
         "  --safest        shows the plan with the fewest bytes and the same result\n\n"
         "  snug plan config/train_gpt2.py --card=rtx3060\n"
         "  snug plan config/train_gpt2.py --memory_budget=8GiB --headroom=10%\n\n" +
         config::keys_help(config::Command::kPlan, kColumns);
}

std::string sample_help() {
  return "snug sample [OUT_DIR] [best | step-NNNNNN] [config.py ...] [--key=value ...]\n\n"
         "Lets the newest checkpoint of OUT_DIR write, as nanoGPT's sample.py does, or the\n"
         "one that is named: out best, out/step-000250, out/best/model.safetensors. The\n"
         "checkpoint has its own tokenizer; the data set need not be there.\n\n"
         "  snug sample --out_dir=out-shakespeare-char --start=\"ROMEO:\" --num_samples=3\n"
         "  snug sample out-mine best --start=FILE:prompt.txt\n\n" +
         config::keys_help(config::Command::kSample, kColumns);
}

std::string bench_help() {
  return "snug bench [config.py ...] [--key=value ...] [--json] [--profile=FILE]\n"
         "snug bench --emulated [--json]\n\n"
         "Trains the config on random tokens for two seconds and shows where the time of\n"
         "an iteration goes: milliseconds, GFLOP/s and GB/s of every kind of op, and its\n"
         "share of what products and memory reach on this machine.\n\n"
         "  --json          one JSON object instead of the table\n"
         "  --profile=FILE  also a trace of one iteration, for https://ui.perfetto.dev\n"
         "  --emulated      the kernels for cards instead: traffic, bank conflicts and\n"
         "                  tensor-core work of each, counted on emulated cards\n\n"
         "  snug bench --batch_size=2 --gradient_accumulation_steps=1 --dtype=bfloat16\n";
}

std::string cards_help() {
  return "snug cards [--json]\n\n"
         "Lists the cards that `snug plan --card=NAME` knows: memory, arithmetic rates,\n"
         "bandwidth. No card is needed to plan for one.\n";
}

std::string config_help() {
  return "snug config [config.py ...] [--key=value ...]\n\n"
         "Shows the settings that these arguments resolve to, and where each comes from.\n"
         "  --json          as one JSON object\n"
         "  --markdown      all keys with their defaults and meaning, as in docs/keys.md\n";
}

}  // namespace snug::cli
