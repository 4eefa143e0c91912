// Where the time of an iteration goes: seconds, GFLOP/s and share per kind of op, the median
// and the 10th percentile over two seconds of iterations.
// usage: step_profile [--key=value ...]   (config keys; data are random tokens)
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "train/random_run.h"

namespace {

using namespace snug;
using Clock = std::chrono::steady_clock;

constexpr double kQuiet = 0.1;  // the part of the iterations in which the machine did little else

// What the ops of one kind took and did in one iteration.
struct Total {
  double seconds = 0, flops = 0;
  std::int64_t calls = 0;
};
using Totals = std::map<std::string, Total>;

double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size()))];
}

// Of `row_count` of the op's rows.
double flops_of(const program::Program& program, const program::Phase& phase, const ops::Op& op,
                std::int64_t row_count) {
  const auto index = static_cast<std::size_t>(&op - phase.ops.data());
  const ops::Shapes shapes = program::shapes_of(program, phase, index);
  return ops::work_of(op, shapes).flops * static_cast<double>(row_count) /
         static_cast<double>(std::max<std::int64_t>(1, shapes.row_count()));
}

// `last`: what the last iteration did, the same as every other.
void print_table(const Totals& last, const std::map<std::string, std::vector<double>>& seconds,
                 const std::vector<double>& iterations) {
  const double whole = quantile(iterations, 0.5);
  fmt::print("{:<28} {:>9}  {:>9}  {:>6}  {:>6}  {:>8}\n", "", "median ms", "quiet ms", "share",
             "calls", "GFLOP/s");
  for (const auto& [name, total] : last) {
    const double taken = quantile(seconds.at(name), 0.5);
    fmt::print("{:<28} {:>9.3f}  {:>9.3f}  {:>5.1f}%  {:>6}  {:>8.1f}\n", name, taken * 1e3,
               quantile(seconds.at(name), kQuiet) * 1e3, 100 * taken / whole, total.calls,
               total.flops / taken * 1e-9);
  }
  fmt::print("{:<28} {:>9.3f}  {:>9.3f}  of {} iterations\n", "iteration", whole * 1e3,
             quantile(iterations, kQuiet) * 1e3, iterations.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  config::LoadedConfig config = config::load_config(config::Command::kTrain, arguments);
  if (config.values.vocab_size == 0) config.values.vocab_size = 65;
  train::RandomRun run(config.values);
  Totals totals;
  std::string current;
  double flops = 0;
  Clock::time_point start;
  const auto stop = [&] {
    if (current.empty()) return;
    Total& total = totals[current];
    total.seconds += std::chrono::duration<double>(Clock::now() - start).count();
    total.flops += flops;
    total.calls += 1;
  };
  for (std::int64_t i = 0; i < 3; ++i) run.engine().step(i);
  run.executor().observe(
      [&](const program::Phase& phase, const ops::Op& op, std::int64_t first, std::int64_t end) {
        stop();
        current = fmt::format("{} {}", program::name_of(phase.kind), ops::name_of(op));
        flops = flops_of(run.plan().program, phase, op, end - first);
        start = Clock::now();
      });
  std::map<std::string, std::vector<double>> seconds;  // by kind, of every iteration
  std::vector<double> iterations;
  const Clock::time_point began = Clock::now();
  for (std::int64_t i = 3; i < 13 || Clock::now() - began < std::chrono::seconds(2); ++i) {
    totals.clear();
    run.engine().step(i);
    stop();
    current.clear();
    double all = 0;
    for (const auto& [name, total] : totals) {
      seconds[name].push_back(total.seconds);
      all += total.seconds;
    }
    iterations.push_back(all);
  }
  print_table(totals, seconds, iterations);
}
