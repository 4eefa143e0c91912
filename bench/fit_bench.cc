// How well the fit predicts time on this machine, and how long its search takes.
// usage: fit_bench [rounds] [part of a shape's name]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "backend/cuda/cuda_target.h"
#include "device/cpu_device.h"
#include "fit/fixes.h"
#include "fit/search.h"
#include "train/random_run.h"

namespace {

using namespace snug;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct BenchShape {
  const char* name;
  std::vector<std::string> arguments;
  int iterations;
};

const BenchShape kShapes[] = {
    {"gpt2-124m 2x1024",
     {"--batch_size=2", "--gradient_accumulation_steps=1", "--vocab_size=50304"},
     1},
    {"gpt2-124m 1x1024 checkpointed",
     {"--batch_size=1", "--gradient_accumulation_steps=1", "--vocab_size=50304",
      "--grad_checkpoint=True"},
     1},
    {"shakespeare_char 16x256, dropout",
     {"--n_layer=6", "--n_head=6", "--n_embd=384", "--block_size=256", "--batch_size=16",
      "--gradient_accumulation_steps=1", "--vocab_size=65", "--dropout=0.2"},
     2},
    {"nanogpt-cpu 12x64",
     {"--n_layer=4", "--n_head=4", "--n_embd=128", "--block_size=64", "--batch_size=12",
      "--gradient_accumulation_steps=1", "--vocab_size=65"},
     30},
    {"nanogpt-cpu 1x64, twelve times",
     {"--n_layer=4", "--n_head=4", "--n_embd=128", "--block_size=64", "--batch_size=1",
      "--gradient_accumulation_steps=12", "--vocab_size=65"},
     30},
};

double predicted(const config::LoadedConfig& loaded) {
  const device::CpuDevice device(loaded.values);
  const fit::Rates rates = device.rates(loaded.values, loaded.values.vocab_size);
  return fit::Planner(device.target(), loaded.values.vocab_size, rates)
      .iteration_seconds(loaded.values);
}

double measured(train::RandomRun& run, int iterations) {
  const Clock::time_point start = Clock::now();
  for (std::int64_t i = 0; i < iterations; ++i) run.engine().step(1 + i);
  return seconds_since(start) / iterations;
}

// Prediction and truth in turns, so that a slow moment of the machine meets both.
void compare(const BenchShape& shape, int rounds) {
  const config::LoadedConfig loaded = config::load_config(config::Command::kTrain, shape.arguments);
  std::vector<double> ratios, truths;
  for (int round = 0; round < rounds; ++round) {
    const double expected = predicted(loaded);
    train::RandomRun run(loaded.values);
    run.engine().step(0);
    truths.push_back(measured(run, shape.iterations));
    ratios.push_back(expected / truths.back());
  }
  std::sort(ratios.begin(), ratios.end());
  std::sort(truths.begin(), truths.end());
  fmt::print("{:<34} {:>9.1f} ms   predicted / measured {:.2f} ({:.2f} to {:.2f})\n", shape.name,
             truths[truths.size() / 2] * 1e3, ratios[ratios.size() / 2], ratios.front(),
             ratios.back());
  std::fflush(stdout);
}

void time_search() {
  const cuda::CudaTarget target;
  const fit::Card& card = fit::card_named("rtx3060");
  const config::LoadedConfig loaded = config::load_config(
      config::Command::kPlan, std::vector<std::string>{"--batch_size=64", "--card=rtx3060",
                                                       "--gradient_accumulation_steps=8"});
  const fit::Planner planner(target, 50304, fit::card_rates(card));
  const fit::Grid grid = fit::full_grid(loaded.values, planner);
  const fit::Budget budget = fit::card_budget(card, "auto", "0%");
  double search = 1e9, table = 1e9;
  for (int i = 0; i < 5; ++i) {
    Clock::time_point start = Clock::now();
    if (!fit::Search(planner, loaded.values, grid).fastest(budget.usable_bytes)) std::abort();
    search = std::min(search, seconds_since(start));
    start = Clock::now();
    fit::find_fixes(planner, loaded, budget);
    table = std::min(table, seconds_since(start));
  }
  fmt::print("GPT-2 124M, {} settings: search {:.1f} ms, with the table of fixes {:.1f} ms\n",
             grid.batch_sizes.size() * grid.checkpoint_blocks.size() * grid.recompute_light.size() *
                 grid.loss_chunks.size(),
             search * 1e3, table * 1e3);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 3;
  const std::string_view wanted = argc > 2 ? argv[2] : "";
  time_search();
  for (const BenchShape& shape : kShapes) {
    if (std::string_view(shape.name).find(wanted) != std::string_view::npos) compare(shape, rounds);
  }
}
