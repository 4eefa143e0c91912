#include "device/cpu_rates.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>

#include "backend/cpu/cpu_executor.h"
#include "plan/run_plan.h"

namespace snug {
namespace {

using Clock = std::chrono::steady_clock;

// A one-block model that is measured. The products' rates settle at these sizes; bench/fit_bench
// holds the result against real runs.
struct Limits {
  std::int64_t width = 768, context = 512, vocabulary = 2048, rows = 512;

  bool can_shrink() const { return width > 16; }
  void shrink() {
    for (std::int64_t* limit : {&width, &context, &vocabulary, &rows}) *limit /= 2;
  }
};
constexpr double kSecondsPerProgram = 0.15;
constexpr int kMaxRepeats = 20;
// Runs of the same program on a shared machine differ by this much (docs/benchmarks.md).
constexpr double kLow = 0.87, kHigh = 1.15;

// What the ops of one kind did and took together.
struct Sample {
  ops::Work work{0, 0, 0};
  double seconds = 0;
};
using Samples = std::array<Sample, 2 * ops::kOpKindCount>;

Sample& sample_of(Samples& samples, const Phase& phase, const Op& op) {
  const bool in_loop = phase.loop_of(static_cast<std::size_t>(&op - phase.ops.data())) != nullptr;
  return samples[Rates::index(op.kind(), in_loop)];
}

std::unique_ptr<RunPlan> one_block_run(const Config& config, std::int64_t vocab_size,
                                       const Limits& limits, const cpu::CpuTarget& target) {
  Config small = config;
  const std::int64_t head_width = std::min(config.n_embd / config.n_head, limits.width);
  small.n_layer = 1;
  small.n_head = std::clamp<std::int64_t>(limits.width / head_width, 1, config.n_head);
  small.n_embd = small.n_head * head_width;
  small.block_size = small.eval_block_size = std::min(config.block_size, limits.context);
  small.batch_size = std::clamp<std::int64_t>(limits.rows / small.block_size, 1, config.batch_size);
  small.eval_batch_size = small.gradient_accumulation_steps = 1;
  small.checkpoint_blocks = 0;
  small.recompute_light = true;
  small.eval_only = false;
  return plan_training(small, std::min(vocab_size, limits.vocabulary), target);
}

// One iteration, each op's time added to its kind's sample.
void run_timed(const RunPlan& run, cpu::CpuExecutor& executor, const StepContext& context,
               Samples& samples) {
  const Phase* phase = nullptr;
  const Op* current = nullptr;
  Clock::time_point start;
  const auto stop = [&] {
    if (current == nullptr) return;
    const std::chrono::duration<double> taken = Clock::now() - start;
    sample_of(samples, *phase, *current).seconds += taken.count();
  };
  executor.observe([&](const Phase& of_phase, const Op& op, std::int64_t, std::int64_t) {
    stop();
    phase = &of_phase;
    current = &op;
    start = Clock::now();
  });
  for (const PhaseKind kind :
       {PhaseKind::kBeginIteration, PhaseKind::kMicroStep, PhaseKind::kUpdate}) {
    executor.run(run.program.phase(kind), context);
    stop();
    current = nullptr;
  }
  executor.observe({});
}

void add_work(const RunPlan& run, Samples& samples) {
  for (const PhaseKind kind :
       {PhaseKind::kBeginIteration, PhaseKind::kMicroStep, PhaseKind::kUpdate}) {
    const Phase& phase = run.program.phase(kind);
    for (std::size_t o = 0; o < phase.ops.size(); ++o) {
      const ops::Work work = ops::work_of(phase.ops[o], shapes_of(run.program, phase, o));
      ops::Work& sum = sample_of(samples, phase, phase.ops[o]).work;
      sum.flops += work.flops;
      sum.bytes += work.bytes;
      sum.starts += work.starts;
    }
  }
}

Samples measure(const RunPlan& run, double dropout) {
  cpu::CpuExecutor executor(run.program, run.plan);  // all zeros: token 0 and target 0 everywhere
  StepContext context;
  context.sequence_count = run.program.phase(PhaseKind::kMicroStep).batch_size;
  context.dropout = dropout;
  context.beta1 = context.beta2 = 0.9;
  context.update_count = 1;
  Samples warm_up{}, samples{};
  run_timed(run, executor, context, warm_up);
  int repeats = 0;
  for (const Clock::time_point start = Clock::now(); repeats < kMaxRepeats; ++repeats) {
    if (std::chrono::duration<double>(Clock::now() - start).count() > kSecondsPerProgram) break;
    run_timed(run, executor, context, samples);
  }
  for (Sample& sample : samples) sample.seconds /= std::max(1, repeats);
  add_work(run, samples);
  return samples;
}

// seconds = starts * start_seconds + work * per_work, through one or two measured points.
OpRate fit_rate(const Sample& large, const Sample& small) {
  const bool products = large.work.flops > 0;
  const double w1 = products ? large.work.flops : large.work.bytes;
  const double w0 = products ? small.work.flops : small.work.bytes;
  OpRate rate;
  if (w1 <= 0) return rate;
  double per_work = large.seconds / w1;
  if (w1 > 1.5 * w0 && w0 > 0) {
    const double slope = (large.seconds - small.seconds) / (w1 - w0);
    const double start = (small.seconds - slope * w0) / small.work.starts;
    if (slope > 0 && start > 0) {
      per_work = slope;
      rate.start_seconds = start;
    }
  }
  if (products) {
    rate.flop_seconds_f32 = rate.flop_seconds_bf16 = rate.flop_seconds_f16 = per_work;
  } else {
    rate.seconds_per_byte = per_work;
  }
  return rate;
}

}  // namespace

Rates measure_cpu_rates(const Config& config, std::int64_t vocab_size, const cpu::CpuTarget& target,
                        std::int64_t available_bytes) {
  Limits limits;
  auto large = one_block_run(config, vocab_size, limits, target);
  while (large->plan.arena_bytes > available_bytes / 4 && limits.can_shrink()) {
    limits.shrink();
    large = one_block_run(config, vocab_size, limits, target);
  }
  const Samples of_large = measure(*large, config.dropout);
  limits.rows = 1;
  const auto small = one_block_run(config, vocab_size, limits, target);
  const bool two_points = small->program.phase(PhaseKind::kMicroStep).batch_size <
                          large->program.phase(PhaseKind::kMicroStep).batch_size;
  const Samples of_small = two_points ? measure(*small, config.dropout) : of_large;
  Rates rates;
  for (std::size_t i = 0; i < rates.by_kind.size(); ++i) {
    rates.by_kind[i] = fit_rate(of_large[i], of_small[i]);
  }
  rates.low = kLow;
  rates.high = kHigh;
  return rates;
}

}  // namespace snug
