#include "device/selftest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <span>

#include "backend/cpu/cpu_executor.h"
#include "backend/cpu/cpu_target.h"
#include "backend/cpu/threads.h"
#include "base/error.h"
#include "base/float16.h"
#include "base/philox.h"
#include "plan/run_plan.h"

namespace snug::device {
namespace {

using Numbers = std::vector<double>;

constexpr int kUpdates = 3;
constexpr std::int64_t kVocabulary = 96, kWindow = 48;

// Attention has an instance of its kernels for heads up to 32, 64 and 128 wide: each is run, 64
// first, which is GPT-2's; 20 is in the middle of a tile.
struct Heads {
  std::int64_t width, count;
};
constexpr Heads kHeads[] = {{64, 2}, {20, 3}, {128, 1}};

// Every op: two layers, biases, dropout, two micro-batches, a checkpointed block, two loss chunks.
config::Config small_config(const config::Config& wanted, DType precision, const Heads& heads) {
  config::Config small = wanted;
  small.n_layer = 2;
  small.n_head = heads.count;
  small.n_embd = heads.count * heads.width;
  small.block_size = small.eval_block_size = kWindow;
  small.batch_size = small.eval_batch_size = 2;
  small.gradient_accumulation_steps = 2;
  small.checkpoint_blocks = 1;
  small.loss_chunk = kWindow;
  small.vocab_size = kVocabulary;
  small.bias = true;
  small.dropout = 0.1;
  small.eval_only = false;
  small.dtype = name_of(precision);
  return small;
}

// What rounding to the precision does to a number, and some of it to sums of such numbers: a
// gradient has gone through some twenty ops.
double bound_of(DType precision) {
  return precision == DType::kF32 ? 2e-4 : precision == DType::kF16 ? 4e-2 : 2e-1;
}

double number_at(const std::byte* bytes, DType dtype, std::size_t i) {
  const auto as = [&]<class T>(T value) {
    std::memcpy(&value, bytes + i * sizeof value, sizeof value);
    return value;
  };
  switch (dtype) {
    case DType::kF64:
      return as(0.0);
    case DType::kF32:
      return as(0.0f);
    case DType::kI32:
      return as(std::int32_t{0});
    case DType::kBF16:
      return to_float(as(Bf16()));
    case DType::kF16:
      return to_float(as(F16()));
    default:
      return static_cast<double>(bytes[i]);
  }
}

void put_number(std::byte* to, DType dtype, float value) {
  const auto copy = [&](auto number) { std::memcpy(to, &number, sizeof number); };
  if (dtype == DType::kBF16) return copy(nearest<Bf16>(value));
  if (dtype == DType::kF16) return copy(nearest<F16>(value));
  copy(value);
}

Numbers numbers_of(std::span<const std::byte> bytes, DType dtype) {
  Numbers numbers(bytes.size() / static_cast<std::size_t>(size_of(dtype)));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = number_at(bytes.data(), dtype, i);
  return numbers;
}

// As a share of the largest number; infinite where either has NaN.
double difference(const Numbers& a, const Numbers& b) {
  double largest = 0, apart = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return HUGE_VAL;
    largest = std::max(largest, std::abs(b[i]));
    apart = std::max(apart, std::abs(a[i] - b[i]));
  }
  return apart == 0 ? 0 : apart / std::max(largest, 1e-30);
}

// What ops wrote, in the order in which they ran; labels repeat from chunk to chunk and from phase
// to phase. Copies between the host and a card, and tables of positions, are not compared.
struct Written {
  std::string label, tensor;
  Numbers numbers;
};
using Tape = std::map<std::string, std::vector<Written>, std::less<>>;

template <class Read>
void record(const program::Program& program, const program::Phase& phase, const ops::Op& op,
            std::int64_t end_row, const Read& read, Tape& tape) {
  if (op.is<ops::Copy>() || op.is<ops::CheckpointRead>() || op.is<ops::CheckpointWrite>()) return;
  ops::for_each_operand(op, [&](std::string_view, TensorId id, ops::Access access) {
    if (access == ops::Access::kRead) return;
    const auto* embed = op.as<ops::EmbedBackward>();
    if (embed != nullptr && id == embed->row_token) return;  // beyond the rows in use it is nothing
    // The losses of all chunks are there after the last one.
    if (id == phase.io.losses && end_row < phase.batch_size * phase.block_size) return;
    const Tensor& tensor = program.tensor(id);
    std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.byte_count()));
    read(id, std::span(bytes));
    const std::string key = fmt::format("{} {}", name_of(phase.kind), op.label);
    tape[key].push_back({op.label, tensor.name, numbers_of(bytes, tensor.dtype)});
  });
}

// A run on one executor, with all that it wrote.
struct Side {
  const plan::RunPlan& run;
  backend::Executor& executor;
  Tape tape;
  double loss = 0;
};

void load_weights(Side& side) {
  const program::Program& program = side.run.program;
  const auto put = [](TensorBytes& bytes, TensorId id, const Tensor& tensor, double spread) {
    for_each_piece(tensor.byte_count(), [&](std::int64_t at, std::int64_t count) {
      bytes.put(id, at, count, [&](std::span<std::byte> piece) {
        const std::int64_t size = size_of(tensor.dtype);
        for (std::int64_t i = 0; i < std::ssize(piece); i += size) {
          const auto element = static_cast<std::uint32_t>((at + i) / size);
          const auto words = philox(1, {element, 0, static_cast<std::uint32_t>(id), 0});
          const double uniform = uniform_double(words[0], words[1]) - 0.5;
          put_number(piece.data() + i, tensor.dtype, static_cast<float>(spread * uniform));
        }
      });
    });
  };
  backend::run_transfer(
      side.executor, program.phase(program::PhaseKind::kLoad), [&](TensorBytes& bytes) {
        for (const TensorId id : program.weights) {
          put(bytes, id, program.tensor(id), 0.2);
        }
        for (const auto& moments : {program.first_moments, program.second_moments}) {
          for (const TensorId id : moments) put(bytes, id, program.tensor(id), 0);
        }
      });
}

void write_tokens(Side& side, const program::Phase& phase, std::uint32_t batch) {
  const auto write = [&](TensorId id, std::uint32_t kind) {
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(phase.batch_size * phase.block_size));
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto words = philox(2, {static_cast<std::uint32_t>(i), kind, batch, 0});
      tokens[i] = static_cast<std::int32_t>(words[0] % kVocabulary);
    }
    backend::write_elements<std::int32_t>(side.executor, id, 0, tokens);
  };
  write(phase.host.tokens, 0);
  if (phase.host.targets != kNoTensor) write(phase.host.targets, 1);
}

double mean_loss(Side& side, const program::Phase& phase) {
  std::vector<float> losses(static_cast<std::size_t>(phase.batch_size * phase.block_size));
  backend::read_elements(side.executor, phase.host.losses, 0, std::span(losses));
  double sum = 0;
  for (const float loss : losses) sum += loss;
  return sum / static_cast<double>(losses.size());
}

void train(Side& side) {
  const program::Program& program = side.run.program;
  const auto run_batch = [&](program::PhaseKind kind, backend::StepContext context) {
    const program::Phase& phase = program.phase(kind);
    context.sequence_count = phase.batch_size;
    write_tokens(side, phase,
                 static_cast<std::uint32_t>(2 * context.iteration + context.first_sequence / 2));
    side.executor.run(phase, context);
    side.loss = mean_loss(side, phase);
  };
  load_weights(side);
  for (int update = 0; update < kUpdates; ++update) {
    backend::StepContext context;
    context.seed = 3;
    context.iteration = update;
    run_batch(program::PhaseKind::kEvaluate, context);
    side.executor.run(program.phase(program::PhaseKind::kBeginIteration), context);
    context.dropout = 0.1;
    run_batch(program::PhaseKind::kMicroStep, context);
    context.first_sequence = 2;
    run_batch(program::PhaseKind::kMicroStep, context);
    context.gradient_scale = 1.0 / (4 * kWindow);
    context.gradient_clip = 1;
    context.learning_rate = 1e-3;
    context.beta1 = 0.9;
    context.beta2 = 0.95;
    context.update_count = update + 1;
    side.executor.run(program.phase(program::PhaseKind::kUpdate), context);
    side.executor.wait();
  }
}

// A prefill and three positions after it.
void sample(Side& side) {
  const program::Program& program = side.run.program;
  load_weights(side);
  backend::StepContext context;
  context.sequence_count = 1;
  context.position = kWindow - 4;
  write_tokens(side, program.phase(program::PhaseKind::kPrefill), 0);
  side.executor.run(program.phase(program::PhaseKind::kPrefill), context);
  for (std::uint32_t step = 1; step < 4; ++step) {
    ++context.position;
    write_tokens(side, program.phase(program::PhaseKind::kDecode), step);
    side.executor.run(program.phase(program::PhaseKind::kDecode), context);
  }
  side.executor.wait();
}

// The processor's executor looks before an op; an op is recorded when the next one begins, and the
// last of a phase when the next phase does.
Tape record_cpu(const plan::RunPlan& run, const std::function<void(Side&)>& work, double* loss) {
  cpu::CpuExecutor executor(run.program, run.plan);
  Side side{run, executor, {}, 0};
  const program::Phase* last_phase = nullptr;
  const ops::Op* last_op = nullptr;
  std::int64_t last_end = 0;
  const auto record_last = [&] {
    if (last_op == nullptr) return;
    const auto read = [&](TensorId id, std::span<std::byte> bytes) { executor.read(id, 0, bytes); };
    record(run.program, *last_phase, *last_op, last_end, read, side.tape);
  };
  executor.observe(
      [&](const program::Phase& phase, const ops::Op& op, std::int64_t, std::int64_t end_row) {
        record_last();
        last_end = end_row;
        last_phase = &phase;
        last_op = &op;
      });
  work(side);
  record_last();
  *loss = side.loss;
  return std::move(side.tape);
}

Tape record_card(const CudaDevice& card, const plan::RunPlan& run,
                 const std::function<void(Side&)>& work, double* loss) {
  const auto executor = card.make_executor(run.program, run.plan);
  Side side{run, *executor, {}, 0};
  cuda::observe(*executor, [&](const program::Phase& phase, const ops::Op& op, std::int64_t end_row,
                               const cuda::TensorReader& read) {
    record(run.program, phase, op, end_row, read, side.tape);
  });
  work(side);
  *loss = side.loss;
  return std::move(side.tape);
}

std::map<std::string, std::string_view, std::less<>> kinds_of(const program::Program& program) {
  std::map<std::string, std::string_view, std::less<>> kinds;
  for (const program::Phase& phase : program.phases) {
    for (const ops::Op& op : phase.ops) {
      kinds[fmt::format("{} {}", name_of(phase.kind), op.label)] = ops::name_of(op);
    }
  }
  return kinds;
}

SelftestRow& row_of(std::vector<SelftestRow>& rows, std::string_view op, DType precision) {
  for (SelftestRow& row : rows) {
    if (row.op == op && row.precision == precision) return row;
  }
  rows.push_back({op, precision, 0, 0, bound_of(precision), ""});
  return rows.back();
}

void compare(const program::Program& program, const Tape& card, const Tape& cpu, DType precision,
             std::vector<SelftestRow>& rows) {
  const auto kinds = kinds_of(program);
  for (const auto& [key, written] : card) {
    const auto expected = cpu.find(key);
    if (expected == cpu.end() || expected->second.size() != written.size()) {
      throw InternalError(fmt::format("the processor did not run '{}' as the card did", key));
    }
    SelftestRow& row = row_of(rows, kinds.at(key), precision);
    for (std::size_t i = 0; i < written.size(); ++i) {
      const double apart = difference(written[i].numbers, expected->second[i].numbers);
      ++row.compared;
      if (apart < row.worst) continue;
      row.worst = apart;
      row.worst_at = fmt::format("{}: {}", written[i].label, written[i].tensor);
    }
  }
}

}  // namespace

bool SelftestTraining::passed() const {
  return std::abs(card_loss - cpu_loss) <= bound * std::abs(cpu_loss);
}

bool Selftest::passed() const {
  return std::ranges::all_of(rows, &SelftestRow::passed) &&
         std::ranges::all_of(trainings, &SelftestTraining::passed);
}

namespace {

// Trains and samples with these heads on both sides.
SelftestTraining compare_run(const CudaDevice& card, const cpu::CpuTarget& processor,
                             const config::Config& small, DType precision,
                             std::vector<SelftestRow>& rows) {
  const auto on_card = plan::plan_training(small, kVocabulary, card.target());
  const auto here = plan::plan_training(small, kVocabulary, processor);
  SelftestTraining training{precision, small.n_embd / small.n_head, kUpdates, 0,
                            0,         bound_of(precision) / 10};
  const Tape found = record_card(card, *on_card, train, &training.card_loss);
  const Tape expected = record_cpu(*here, train, &training.cpu_loss);
  compare(on_card->program, found, expected, precision, rows);
  const auto sampling_card = plan::plan_sampling(on_card->model, kWindow, precision, card.target());
  const auto sampling_here = plan::plan_sampling(here->model, kWindow, precision, processor);
  double unused = 0;
  const Tape decoded = record_card(card, *sampling_card, sample, &unused);
  compare(sampling_card->program, decoded, record_cpu(*sampling_here, sample, &unused), precision,
          rows);
  return training;
}

}  // namespace

Selftest run_selftest(const CudaDevice& card, const config::Config& config,
                      const std::function<void(std::string_view)>& progress) {
  Selftest result;
  const cpu::CpuTarget processor(cpu::thread_count(config.threads));
  const std::int64_t free_before = cuda::free_bytes_now(card.open_card());
  for (const DType precision : {DType::kF32, DType::kBF16, DType::kF16}) {
    if (card.target().compute_dtype(precision) != precision) continue;
    if (processor.compute_dtype(precision) != precision) continue;
    progress(name_of(precision));
    for (const Heads& heads : kHeads) {
      const config::Config small = small_config(config, precision, heads);
      result.trainings.push_back(compare_run(card, processor, small, precision, result.rows));
    }
  }
  // All arenas are given back: what is missing now was loaded meanwhile.
  result.loaded_bytes = free_before - cuda::free_bytes_now(card.open_card());
  std::ranges::sort(result.rows, {},
                    [](const SelftestRow& row) { return std::pair(row.op, row.precision); });
  return result;
}

}  // namespace snug::device
