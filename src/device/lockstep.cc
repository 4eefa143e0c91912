#include "device/lockstep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "backend/phase_walk.h"
#include "base/error.h"
#include "device/op_bounds.h"
#include "device/selftest_run.h"

namespace snug::device {
namespace {

// Between the host and a card, which the processor's program need not have.
bool is_of_the_card_alone(const ops::Op& op) { return op.is<ops::Copy>(); }
bool moves_checkpoints(const ops::Op& op) {
  return op.is<ops::CheckpointRead>() || op.is<ops::CheckpointWrite>();
}

std::vector<std::size_t> shared_ops(const program::Phase& phase) {
  std::vector<std::size_t> shared;
  for (std::size_t o = 0; o < phase.ops.size(); ++o) {
    if (!is_of_the_card_alone(phase.ops[o])) shared.push_back(o);
  }
  return shared;
}

struct Written {
  std::string_view operand;
  TensorId id;
};
std::vector<Written> written_by(const ops::Op& op) {
  std::vector<Written> written;
  ops::for_each_operand(op, [&](std::string_view operand, TensorId id, ops::Access access) {
    if (access != ops::Access::kRead) written.push_back({operand, id});
  });
  return written;
}

// The elements of a tensor that an op has written by the end of these rows: in a loop those of its
// chunk, of an embedding's lists those in use. What lies beyond is anything.
struct Part {
  std::int64_t first, count, width;
};
Part part_of(const ops::Op& op, std::string_view operand, const Tensor& tensor, bool in_loop,
             const backend::RowRange& rows) {
  const std::int64_t all = tensor.byte_count() / size_of(tensor.dtype);
  const std::int64_t width = tensor.shape[tensor.shape.rank() - 1], count = rows.end - rows.first;
  if (in_loop && op.is<ops::CrossEntropy>() && operand == "losses") return {rows.first, count, 1};
  if (in_loop && op.is<ops::LinearDx>()) return {rows.first * width, count * width, width};
  if (in_loop && (op.is<ops::Linear>() || operand == "gradient")) return {0, count * width, width};
  return {0, all, width};
}

// The row keeps what comes nearest to its bound; where that is 0, any difference is beyond it.
void note(SelftestMeasure& kept, double found, double bound, const std::string& at) {
  const auto share = [](double of, double limit) { return of == 0 ? 0 : of / limit; };
  if (!kept.at.empty() && share(found, bound) <= share(kept.found, kept.bound)) return;
  kept = {found, bound, at};
}

// A mean that is this many of its standard errors away from zero is no chance.
constexpr double kStandardErrors = 6;

}  // namespace

Lockstep::Lockstep(const plan::RunPlan& card_run, backend::Executor& card,
                   const plan::RunPlan& cpu_run, cpu::CpuExecutor& processor, std::string where,
                   SelftestPrecision precision, std::vector<SelftestRow>& rows)
    : card_run_(card_run),
      cpu_run_(cpu_run),
      card_(card),
      processor_(processor),
      where_(std::move(where)),
      precision_(precision),
      rows_(rows) {
  clear();
}

// A card's memory starts as anything; a cache of keys is compared beyond what was stored in it.
void Lockstep::clear() {
  const program::Program& program = card_run_.program;
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    if (card_run_.plan.tensor_offset[t] < 0) continue;
    card_bytes_.assign(static_cast<std::size_t>(program.tensors[t].byte_count()), std::byte{0});
    cuda::write_bytes(card_, static_cast<TensorId>(t), 0, card_bytes_);
  }
}

void Lockstep::load() {
  const backend::HostTransfer to_card = loading(card_run_.program),
                              to_processor = loading(cpu_run_.program);
  const program::Phase& on_card = card_run_.program.phase(program::PhaseKind::kLoad);
  const program::Phase& here = cpu_run_.program.phase(program::PhaseKind::kLoad);
  backend::StepContext card_context, cpu_context;
  card_context.transfer = &to_card;
  cpu_context.transfer = &to_processor;
  const std::vector<std::size_t> cpu_ops = shared_ops(here), card_ops = shared_ops(on_card);
  if (cpu_ops.size() != card_ops.size()) throw InternalError("programs load differently");
  for (std::size_t i = 0; i < card_ops.size(); ++i) {
    run_pair({on_card, here, card_ops[i], cpu_ops[i], {0, 0}}, card_context, cpu_context);
  }
}

void Lockstep::write_tokens(program::PhaseKind kind, std::int64_t vocabulary, std::uint32_t batch) {
  device::write_tokens(card_, card_run_.program.phase(kind), vocabulary, batch);
  device::write_tokens(processor_, cpu_run_.program.phase(kind), vocabulary, batch);
}

void Lockstep::run(program::PhaseKind kind, const backend::StepContext& context) {
  const program::Phase& on_card = card_run_.program.phase(kind);
  const program::Phase& here = cpu_run_.program.phase(kind);
  const std::vector<std::size_t> cpu_ops = shared_ops(here), card_ops = shared_ops(on_card);
  std::map<std::size_t, std::size_t> twin;
  for (std::size_t i = 0; i < std::min(card_ops.size(), cpu_ops.size()); ++i) {
    twin[card_ops[i]] = cpu_ops[i];
  }
  backend::walk_phase(on_card, context, [&](std::size_t op, const backend::RowRange& rows) {
    if (is_of_the_card_alone(on_card.ops[op])) {
      const auto failed = failed_;
      run_on_card({on_card, here, op, 0, rows}, context);
      failed_ = failed;
      return;
    }
    const auto found = twin.find(op);
    if (found == twin.end() || here.ops[found->second].label != on_card.ops[op].label) {
      throw InternalError(
          fmt::format("the processor has no '{}' as the card has", on_card.ops[op].label));
    }
    run_pair({on_card, here, op, found->second, rows}, context, context);
  });
}

void Lockstep::run_pair(const Pair& pair, const backend::StepContext& context,
                        const backend::StepContext& cpu_context) {
  const bool card_ran = run_on_card(pair, context);
  processor_.run_one(pair.cpu, pair.cpu_op, cpu_context, pair.rows.first, pair.rows.end);
  if (!moves_checkpoints(pair.op())) settle(pair, card_ran);
}

// False where it failed; the card is then as it was before.
bool Lockstep::run_on_card(const Pair& pair, const backend::StepContext& context) {
  const ops::Op& op = pair.op();
  // The two may run as one, which has failed.
  const bool comes_with_failed = failed_ != nullptr && failed_->is<ops::ResidualAdd>() &&
                                 op.is<ops::LayerNorm>() &&
                                 op.as<ops::LayerNorm>()->x == failed_->as<ops::ResidualAdd>()->out;
  SelftestRow& row = row_of(op);
  const std::string at = fmt::format("{}, {}", op.label, where_);
  try {
    if (comes_with_failed)
      throw DeviceError("not run: it may go with the one before, which failed");
    cuda::run_op(card_, pair.card, pair.card_op, context, pair.rows);
    failed_ = nullptr;
    return true;
  } catch (const Error& error) {
    if (row.failure.empty()) row.failure = fmt::format("{}: {}", at, error.what());
    if (cuda::is_lost()) throw LostCard{row.failure};
    failed_ = &op;
    return false;
  }
}

void Lockstep::settle(const Pair& pair, bool card_ran) {
  const std::vector<Written> on_card = written_by(pair.op()),
                             here = written_by(pair.cpu.ops[pair.cpu_op]);
  if (on_card.size() != here.size()) throw InternalError("an op of another kind");
  for (std::size_t i = 0; i < on_card.size(); ++i) {
    compare(pair, on_card[i].id, here[i].id, on_card[i].operand, card_ran);
  }
}

// Of the list of an embedding's rows only those in use were written.
std::int64_t Lockstep::elements_in_use(const Pair& pair, std::string_view operand,
                                       std::int64_t all) const {
  const auto* embed = pair.cpu.ops[pair.cpu_op].as<ops::EmbedBackward>();
  if (embed == nullptr || operand != "row_token") return all;
  std::int32_t in_use = 0;
  processor_.read(embed->row_count, 0, std::as_writable_bytes(std::span(&in_use, 1)));
  return std::min<std::int64_t>(all, in_use);
}

// The two go on with the same numbers: the card's where they are within the bound, else the
// processor's, so that a wrong op does not spoil the rows of those after it.
void Lockstep::compare(const Pair& pair, TensorId on_card, TensorId here, std::string_view operand,
                       bool card_ran) {
  const program::Program& program = card_run_.program;
  const Tensor& tensor = program.tensor(on_card);
  Part part =
      part_of(pair.op(), operand, tensor, pair.card.loop_of(pair.card_op) != nullptr, pair.rows);
  part.count = elements_in_use(pair, operand, part.count);
  const std::int64_t size = size_of(tensor.dtype), offset = part.first * size;
  const std::span<std::byte> cpu_bytes(processor_.bytes(here, offset, part.count * size),
                                       static_cast<std::size_t>(part.count * size));
  if (!card_ran) return cuda::write_bytes(card_, on_card, offset, cpu_bytes);
  card_bytes_.resize(cpu_bytes.size());
  cuda::read_bytes(card_, on_card, offset, card_bytes_);
  const double apart = difference(card_bytes_, cpu_bytes, tensor.dtype, part.width);
  const Bound bound =
      bound_of(pair.op(), operand, program::shapes_of(program, pair.card, pair.card_op),
               tensor.dtype, precision_.tf32);
  const Drift drift = drift_of(card_bytes_, cpu_bytes, tensor.dtype, part.width);
  const std::string at = fmt::format("{}: {}, {}", pair.op().label, tensor.name, where_);
  SelftestRow& row = row_of(pair.op());
  ++row.compared;
  note(row.apart, apart, bound.apart, at);
  note(row.drift, std::abs(drift.mean), bound.drift + kStandardErrors * drift.error, at);
  if (apart <= bound.apart) {
    std::ranges::copy(card_bytes_, cpu_bytes.begin());
  } else {
    cuda::write_bytes(card_, on_card, offset, cpu_bytes);
  }
}

SelftestRow& Lockstep::row_of(const ops::Op& op) {
  const std::string_view name = ops::name_of(op);
  for (SelftestRow& row : rows_) {
    if (row.op == name && row.precision == precision_) return row;
  }
  rows_.push_back({.op = name, .precision = precision_});
  return rows_.back();
}

}  // namespace snug::device
