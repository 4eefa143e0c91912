#include "device/selftest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/cpu/cpu_target.h"
#include "backend/cpu/threads.h"
#include "base/error.h"
#include "device/lockstep.h"
#include "device/selftest_run.h"

namespace snug::device {
namespace {

using program::PhaseKind;

constexpr int kUpdates = 3;

// 203 positions: no multiple of a tile, nor of a warp. GPT-2's width with its vocabulary; GPT-2
// XL's with heads of 100 and a vocabulary of characters, whose rows begin at odd addresses.
constexpr SelftestCase kRealCases[] = {{1, 12, 64, 50304, 203, 1}, {1, 16, 100, 65, 203, 2}};
constexpr SelftestCase kReducedCases[] = {{1, 2, 64, 1003, 203, 1}, {1, 2, 100, 65, 203, 1}};
// Attention has an instance of its kernels for heads up to 32, 64 and 128 wide; 20 is in the middle
// of a tile. Two layers, one of them checkpointed; moments of 16 bits.
constexpr SelftestCase kSmallCases[] = {
    {2, 2, 64, 96, 48, 2}, {2, 3, 20, 96, 48, 2}, {2, 1, 128, 96, 48, 2, "bfloat16"}};

// Card and processor, and what the user set.
struct Sides {
  const CudaDevice& card;
  const cpu::CpuTarget& processor;
  const config::Config& config;
};

std::unique_ptr<backend::Executor> on_card(const Sides& sides, const plan::RunPlan& run,
                                           SelftestPrecision precision) {
  return cuda::make_executor(sides.card.open_card(), run.program, run.plan,
                             {.tf32 = precision.tf32, .refuses_late = true});
}

void compare_training_ops(const Sides& sides, const SelftestCase& model,
                          SelftestPrecision precision, std::vector<SelftestRow>& rows) {
  const config::Config config = config_of(model, sides.config, precision.dtype);
  const auto card_run = plan::plan_training(config, model.vocabulary, sides.card.target());
  const auto cpu_run = plan::plan_training(config, model.vocabulary, sides.processor);
  const auto card = on_card(sides, *card_run, precision);
  cpu::CpuExecutor processor(cpu_run->program, cpu_run->plan);
  Lockstep both(*card_run, *card, *cpu_run, processor, model.describe(), precision, rows);
  both.load();
  backend::StepContext context = step_context(0, model.batch);
  both.run(PhaseKind::kBeginIteration, context);
  for (std::uint32_t batch = 0; batch < 2; ++batch) {  // the second one adds to the gradients
    context.first_sequence = batch * model.batch;
    both.write_tokens(PhaseKind::kMicroStep, model.vocabulary, batch);
    both.run(PhaseKind::kMicroStep, context);
  }
  both.run(PhaseKind::kUpdate, update_context(0, 2 * model.batch * model.window));
  context.dropout = 0;
  both.write_tokens(PhaseKind::kEvaluate, model.vocabulary, 1);
  both.run(PhaseKind::kEvaluate, context);
}

// A prefill and two positions after it.
void compare_sampling_ops(const Sides& sides, const SelftestCase& model,
                          SelftestPrecision precision, std::vector<SelftestRow>& rows) {
  const config::Config config = config_of(model, sides.config, precision.dtype);
  const auto trained = plan::plan_training(config, model.vocabulary, sides.processor);
  const auto card_run =
      plan::plan_sampling(trained->model, model.window, precision.dtype, sides.card.target());
  const auto cpu_run =
      plan::plan_sampling(trained->model, model.window, precision.dtype, sides.processor);
  const auto card = on_card(sides, *card_run, precision);
  cpu::CpuExecutor processor(cpu_run->program, cpu_run->plan);
  Lockstep both(*card_run, *card, *cpu_run, processor, model.describe(), precision, rows);
  both.load();
  backend::StepContext context;
  context.sequence_count = 1;
  context.position = model.window - 3;
  both.write_tokens(PhaseKind::kPrefill, model.vocabulary, 0);
  both.run(PhaseKind::kPrefill, context);
  for (std::uint32_t step = 1; step < 3; ++step) {
    ++context.position;
    both.write_tokens(PhaseKind::kDecode, model.vocabulary, step);
    both.run(PhaseKind::kDecode, context);
  }
}

double mean_loss(backend::Executor& executor, const program::Phase& phase) {
  std::vector<float> losses(static_cast<std::size_t>(phase.batch_size * phase.block_size));
  backend::read_elements(executor, phase.host.losses, 0, std::span(losses));
  double sum = 0;
  for (const float loss : losses) sum += loss;
  return sum / static_cast<double>(losses.size());
}

// The last loss of some updates of two micro-batches each.
double train(const program::Program& program, backend::Executor& executor,
             const SelftestCase& model) {
  backend::run_transfer(executor, program.phase(PhaseKind::kLoad), loading(program));
  const program::Phase& step = program.phase(PhaseKind::kMicroStep);
  double loss = 0;
  for (int update = 0; update < kUpdates; ++update) {
    backend::StepContext context = step_context(update, model.batch);
    executor.run(program.phase(PhaseKind::kBeginIteration), context);
    for (std::uint32_t batch = 0; batch < 2; ++batch) {
      context.first_sequence = batch * model.batch;
      write_tokens(executor, step, model.vocabulary,
                   2 * static_cast<std::uint32_t>(update) + batch);
      executor.run(step, context);
      loss = mean_loss(executor, step);
    }
    executor.run(program.phase(PhaseKind::kUpdate),
                 update_context(update, 2 * model.batch * model.window));
    executor.wait();
  }
  return loss;
}

// A sum in another order now and then rounds to the next number of the precision: a logit of order
// 1 then moves a loss by a unit, the mean over a batch by less. In float32 some hundreds of
// roundings of logits and weights come together.
double training_bound(SelftestPrecision precision) {
  if (precision.tf32) return 0x1p-10;
  return precision.dtype == DType::kF32 ? 2e-5 : precision.dtype == DType::kF16 ? 0x1p-11 : 0x1p-8;
}

SelftestTraining compare_training(const Sides& sides, const SelftestCase& model,
                                  SelftestPrecision precision) {
  SelftestTraining training{.precision = precision,
                            .head_width = model.head_width,
                            .updates = kUpdates,
                            .bound = training_bound(precision),
                            .failure = {}};
  const config::Config config = config_of(model, sides.config, precision.dtype);
  const auto card_run = plan::plan_training(config, model.vocabulary, sides.card.target());
  const auto cpu_run = plan::plan_training(config, model.vocabulary, sides.processor);
  cpu::CpuExecutor processor(cpu_run->program, cpu_run->plan);
  training.cpu_loss = train(cpu_run->program, processor, model);
  try {
    const auto card = on_card(sides, *card_run, precision);
    training.card_loss = train(card_run->program, *card, model);
  } catch (const Error& error) {
    training.failure = error.what();
    if (cuda::is_lost()) throw;
  }
  return training;
}

// Pieces of work, each under its name: what fails is that piece's alone, unless the card is lost.
class Pieces {
 public:
  Pieces(Selftest& result, const std::function<void(std::string_view)>& progress)
      : result_(result), progress_(progress) {}

  template <class Work>
  void run(const std::string& name, SelftestPrecision precision, const Work& work) {
    if (!result_.lost.empty()) return result_.not_run.push_back(name);
    progress_(name);
    try {
      work();
    } catch (const LostCard& lost) {
      result_.lost = lost.reason;
    } catch (const Error& error) {
      if (cuda::is_lost()) {
        result_.lost = name + ": " + error.what();
        return;
      }
      // No op's: the memory was refused, or a program cannot be bound.
      result_.rows.push_back(
          {.op = "start", .precision = precision, .failure = name + ": " + error.what()});
    }
  }

 private:
  Selftest& result_;
  const std::function<void(std::string_view)>& progress_;
};

void run_precision(const Sides& sides, SelftestPrecision precision,
                   std::span<const SelftestCase> cases, Pieces& pieces, Selftest& result) {
  for (const auto& some : {cases, std::span<const SelftestCase>(kSmallCases)}) {
    for (const SelftestCase& model : some) {
      const std::string name = fmt::format("{}: {}", precision.name(), model.describe());
      pieces.run(name, precision,
                 [&] { compare_training_ops(sides, model, precision, result.rows); });
      pieces.run(name + ", sampling", precision,
                 [&] { compare_sampling_ops(sides, model, precision, result.rows); });
    }
  }
  for (const SelftestCase& model : kSmallCases) {
    pieces.run(fmt::format("{}: training, heads of {}", precision.name(), model.head_width),
               precision,
               [&] { result.trainings.push_back(compare_training(sides, model, precision)); });
  }
}

// Only products differ from float32: their rows are told, at the first shapes of each kind.
void run_tf32(const Sides& sides, std::span<const SelftestCase> cases, Pieces& pieces,
              Selftest& result) {
  constexpr SelftestPrecision kTf32{DType::kF32, true};
  std::vector<SelftestRow> rows;
  for (const SelftestCase& model : {cases.front(), kSmallCases[0]}) {
    pieces.run(fmt::format("tf32: {}", model.describe()), kTf32,
               [&] { compare_training_ops(sides, model, kTf32, rows); });
  }
  std::ranges::copy_if(rows, std::back_inserter(result.rows), [](const SelftestRow& row) {
    return row.op.starts_with("linear") || !row.passed();
  });
  pieces.run(fmt::format("tf32: training, heads of {}", kSmallCases[0].head_width), kTf32,
             [&] { result.trainings.push_back(compare_training(sides, kSmallCases[0], kTf32)); });
}

}  // namespace

bool SelftestTraining::passed() const {
  return failure.empty() && std::abs(card_loss - cpu_loss) <= bound;
}

bool Selftest::passed() const {
  return lost.empty() && std::ranges::all_of(rows, &SelftestRow::passed) &&
         std::ranges::all_of(trainings, &SelftestTraining::passed);
}

Selftest run_selftest(const CudaDevice& card, const config::Config& config, SelftestShapes shapes,
                      const std::function<void(std::string_view)>& progress) {
  Selftest result;
  const cpu::CpuTarget processor(cpu::thread_count(config.threads));
  const Sides sides{card, processor, config};
  Pieces pieces(result, progress);
  const bool real = shapes == SelftestShapes::kReal;
  const std::span<const SelftestCase> cases = real ? kRealCases : kReducedCases;
  for (const SelftestCase& model : cases) result.shapes.push_back(model.describe());
  for (const SelftestCase& model : kSmallCases) result.shapes.push_back(model.describe());
  const std::int64_t free_before = cuda::free_bytes_now(card.open_card());
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    if (card.target().compute_dtype(dtype) != dtype) continue;
    if (processor.compute_dtype(dtype) != dtype) continue;
    run_precision(sides, {dtype}, cases, pieces, result);
  }
  if (card.open_card().has_tf32()) run_tf32(sides, cases, pieces, result);
  // All arenas are given back: what is missing now was loaded meanwhile. A lost card cannot be
  // asked.
  if (result.lost.empty()) {
    result.loaded_bytes = free_before - cuda::free_bytes_now(card.open_card());
  }
  // Copies to the host and the like, which nothing is compared of.
  std::erase_if(result.rows,
                [](const SelftestRow& row) { return row.compared == 0 && row.failure.empty(); });
  std::ranges::sort(result.rows, {},
                    [](const SelftestRow& row) { return std::pair(row.op, row.precision); });
  return result;
}

}  // namespace snug::device
