#include "device/cpu_rates.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "backend/cpu/cpu_executor.h"
#include "plan/run_plan.h"

namespace snug::device {
namespace {

using Clock = std::chrono::steady_clock;

// A model of one block, or of some where blocks are tiny, that is measured. The products' rates
// settle at these sizes; bench/fit_bench holds the result against real runs.
struct Limits {
  std::int64_t width = 768, context = 512, vocabulary = 2048, rows = 512;

  // Narrower models get more rows for the same arithmetic: with few, all that elementwise ops touch
  // would lie in a cache where it does not in a run.
  explicit Limits(const config::Config& config) {
    constexpr std::int64_t kMaxRows = 8192;
    const std::int64_t narrower = width / std::min(width, config.n_embd);
    rows = std::min(rows * narrower * narrower, kMaxRows);
  }

  bool can_shrink() const { return width > 16; }
  void shrink() {
    for (std::int64_t* limit : {&width, &context, &vocabulary, &rows}) *limit /= 2;
  }
};
constexpr double kSecondsPerProgram = 0.15;
constexpr std::size_t kMaxRepeats = 20, kMinRepeats = 3;
// Runs of the same program on a shared machine differ by this much (docs/benchmarks.md).
constexpr double kLow = 0.87, kHigh = 1.15;

// What the ops of one kind did and took together.
struct Sample {
  ops::Work work{0, 0, 0};
  double seconds = 0;
};
using Samples = std::array<Sample, 2 * ops::kOpKindCount>;

// Others that use the machine only ever add time: of three runs the quietest of a kind of op is the
// nearest to what it takes. Of many it is a lucky one, with all threads awake and all in a cache:
// then the lower quartile. How far the middle run is from the quietest tells how busy the machine
// is.
struct Measured {
  Samples samples;
  double noise = 1;
};

double whole_seconds(const Samples& samples) {
  double seconds = 0;
  for (const Sample& sample : samples) seconds += sample.seconds;
  return seconds;
}

Measured quiet_runs(const std::vector<Samples>& runs) {
  Measured result{runs.front(), 1};
  std::vector<double> of_kind(runs.size()), whole(runs.size());
  for (std::size_t i = 0; i < result.samples.size(); ++i) {
    std::ranges::transform(runs, of_kind.begin(),
                           [i](const Samples& run) { return run[i].seconds; });
    std::ranges::sort(of_kind);
    result.samples[i].seconds = of_kind[runs.size() / 4];
  }
  std::ranges::transform(runs, whole.begin(), whole_seconds);
  std::ranges::sort(whole);
  if (whole.front() > 0) result.noise = whole[whole.size() / 2] / whole.front();
  return result;
}

Sample& sample_of(Samples& samples, const program::Phase& phase, const ops::Op& op) {
  const bool in_loop = phase.loop_of(static_cast<std::size_t>(&op - phase.ops.data())) != nullptr;
  return samples[fit::Rates::index(op.kind(), in_loop)];
}

std::unique_ptr<plan::RunPlan> small_run(const config::Config& config, std::int64_t vocab_size,
                                         const Limits& limits, const cpu::CpuTarget& target) {
  config::Config small = config;
  const std::int64_t head_width = std::min(config.n_embd / config.n_head, limits.width);
  small.n_head = std::clamp<std::int64_t>(limits.width / head_width, 1, config.n_head);
  small.n_embd = small.n_head * head_width;
  // In one block of a tiny model weights and gradients stay in a core's own cache, as they do not
  // where other blocks' come in between.
  constexpr std::int64_t kWeightsOfBlocks = 1 << 20;
  const std::int64_t of_block = 12 * small.n_embd * small.n_embd;
  small.n_layer = std::clamp<std::int64_t>(kWeightsOfBlocks / of_block, 1, config.n_layer);
  small.block_size = small.eval_block_size = std::min(config.block_size, limits.context);
  small.batch_size = std::clamp<std::int64_t>(limits.rows / small.block_size, 1, config.batch_size);
  small.eval_batch_size = small.gradient_accumulation_steps = 1;
  small.checkpoint_blocks = 0;
  small.recompute_light = true;
  small.eval_only = false;
  return plan::plan_training(small, std::min(vocab_size, limits.vocabulary), target);
}

// One iteration, each op's time added to its kind's sample.
void run_timed(const plan::RunPlan& run, backend::Executor& executor,
               const backend::StepContext& context, Samples& samples) {
  const auto iteration = [&] {
    for (const program::PhaseKind kind :
         {program::PhaseKind::kBeginIteration, program::PhaseKind::kMicroStep,
          program::PhaseKind::kUpdate}) {
      executor.run(run.program.phase(kind), context);
    }
  };
  for (const backend::TimedOp& timed : executor.time_ops(iteration)) {
    sample_of(samples, *timed.phase, *timed.op).seconds += timed.seconds;
  }
}

void add_work(const plan::RunPlan& run, Samples& samples) {
  for (const program::PhaseKind kind :
       {program::PhaseKind::kBeginIteration, program::PhaseKind::kMicroStep,
        program::PhaseKind::kUpdate}) {
    const program::Phase& phase = run.program.phase(kind);
    for (std::size_t o = 0; o < phase.ops.size(); ++o) {
      const ops::Work work = ops::work_of(phase.ops[o], program::shapes_of(run.program, phase, o));
      ops::Work& sum = sample_of(samples, phase, phase.ops[o]).work;
      sum.flops += work.flops;
      sum.bytes += work.bytes;
      sum.starts += work.starts;
    }
  }
}

Measured measure(const plan::RunPlan& run, double dropout) {
  cpu::CpuExecutor executor(run.program, run.plan);  // all zeros: token 0 and target 0 everywhere
  backend::StepContext context;
  context.sequence_count = run.program.phase(program::PhaseKind::kMicroStep).batch_size;
  context.dropout = dropout;
  context.beta1 = context.beta2 = 0.9;
  context.update_count = 1;
  Samples warm_up{};
  run_timed(run, executor, context, warm_up);
  std::vector<Samples> runs;
  const Clock::time_point start = Clock::now();
  const auto taken = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  while (runs.size() < kMinRepeats || (runs.size() < kMaxRepeats && taken() < kSecondsPerProgram)) {
    run_timed(run, executor, context, runs.emplace_back());
  }
  Measured result = quiet_runs(runs);
  add_work(run, result.samples);
  return result;
}

double& flop_seconds(fit::OpRate& rate, DType precision) {
  return precision == DType::kBF16  ? rate.flop_seconds_bf16
         : precision == DType::kF16 ? rate.flop_seconds_f16
                                    : rate.flop_seconds_f32;
}

// seconds = starts * start_seconds + work * per_work, through one or two measured points.
fit::OpRate fit_rate(const Sample& large, const Sample& small, DType precision) {
  const bool products = large.work.flops > 0;
  const double w1 = products ? large.work.flops : large.work.bytes;
  const double w0 = products ? small.work.flops : small.work.bytes;
  fit::OpRate rate;
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
    flop_seconds(rate, precision) = per_work;
  } else {
    rate.seconds_per_byte = per_work;
  }
  return rate;
}

// In the config's own precision; of the others nothing is known.
fit::Rates measure_precision(const config::Config& config, std::int64_t vocab_size,
                             const cpu::CpuTarget& target, std::int64_t available_bytes) {
  Limits limits(config);
  auto large = small_run(config, vocab_size, limits, target);
  while (large->plan.arena_bytes > available_bytes / 4 && limits.can_shrink()) {
    limits.shrink();
    large = small_run(config, vocab_size, limits, target);
  }
  const Measured of_large = measure(*large, config.dropout);
  limits.rows = 1;
  const auto small = small_run(config, vocab_size, limits, target);
  const bool two_points = small->program.phase(program::PhaseKind::kMicroStep).batch_size <
                          large->program.phase(program::PhaseKind::kMicroStep).batch_size;
  const Measured of_small = two_points ? measure(*small, config.dropout) : of_large;
  fit::Rates rates;
  for (std::size_t i = 0; i < rates.by_kind.size(); ++i) {
    rates.by_kind[i] =
        fit_rate(of_large.samples[i], of_small.samples[i], compute_dtype_named(config.dtype));
  }
  rates.noise = of_large.noise;
  rates.low = kLow;
  rates.high = kHigh * rates.noise;
  return rates;
}

}  // namespace

fit::Rates measure_cpu_rates(const config::Config& config, std::int64_t vocab_size,
                             const cpu::CpuTarget& target, std::int64_t available_bytes) {
  fit::Rates rates = measure_precision(config, vocab_size, target, available_bytes);
  if (compute_dtype_named(config.dtype) != DType::kF32) return rates;
  // What a fix may change float32 to. Its traffic is taken to have the rates of float32.
  config::Config other = config;
  other.dtype = name_of(DType::kBF16);
  const fit::Rates rounded = measure_precision(other, vocab_size, target, available_bytes);
  for (std::size_t i = 0; i < rates.by_kind.size(); ++i) {
    rates.by_kind[i].flop_seconds_bf16 = rounded.by_kind[i].flop_seconds_bf16;
  }
  return rates;
}

}  // namespace snug::device
