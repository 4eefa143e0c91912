#include "plan/liveness.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "plan/plan.h"

namespace snug::plan {
namespace {

struct Span {
  std::int32_t first = std::numeric_limits<std::int32_t>::max();
  std::int32_t last = -1;
  std::int32_t phase = -1;

  bool empty() const { return last < 0; }
  void include(std::int32_t from, std::int32_t to) {
    first = std::min(first, from);
    last = std::max(last, to);
  }
};

class LivenessPass {
 public:
  explicit LivenessPass(const program::Program& program)
      : program_(program),
        scratch_alignment_(alignment_in(compute_space(program))),
        spans_(program.tensors.size()) {}

  std::vector<Block> run() {
    number_phases();
    for (std::size_t p = 0; p < program_.phases.size(); ++p) visit_phase(static_cast<int>(p));
    std::vector<Block> blocks;
    for (std::size_t t = 0; t < spans_.size(); ++t) {
      if (spans_[t].empty()) continue;
      const Tensor& tensor = program_.tensors[t];
      blocks.push_back({align_up(tensor.byte_count(), alignment_in(tensor.space)), spans_[t].first,
                        spans_[t].last, tensor.role, static_cast<TensorId>(t), -1, -1});
    }
    blocks.insert(blocks.end(), scratch_.begin(), scratch_.end());
    return blocks;
  }

 private:
  void number_phases() {
    std::int32_t step = 0;
    for (const program::Phase& phase : program_.phases) {
      Span span;
      const auto count = static_cast<std::int32_t>(phase.ops.size());
      if (count > 0) span.include(step, step + count - 1);
      if (phase.in_iteration && !span.empty()) iteration_.include(span.first, span.last);
      phases_.push_back(span);
      step += count;
    }
    run_.include(0, step - 1);
  }

  void visit_phase(std::int32_t p) {
    const program::Phase& phase = program_.phases[static_cast<std::size_t>(p)];
    std::int32_t step = phases_[static_cast<std::size_t>(p)].first;
    for (std::size_t o = 0; o < phase.ops.size(); ++o, ++step) {
      const ops::Op& op = phase.ops[o];
      const Span alive = span_of(phase, o, step);
      ops::for_each_operand(
          op, [&](std::string_view, TensorId id, ops::Access) { touch(id, p, alive, op); });
      if (op.scratch_bytes > 0) {
        scratch_.push_back({align_up(op.scratch_bytes, scratch_alignment_), step, step,
                            Role::kWorkspace, kNoTensor, p, static_cast<std::int32_t>(o)});
      }
    }
  }

  // The steps for which an op's tensors are needed: its own, or all of the loop that it is part of.
  static Span span_of(const program::Phase& phase, std::size_t o, std::int32_t step) {
    Span span;
    span.include(step, step);
    if (const ops::RowLoop* loop = phase.loop_of(o)) {
      span.include(step - static_cast<std::int32_t>(o - loop->first_op),
                   step + static_cast<std::int32_t>(loop->end_op - 1 - o));
    }
    return span;
  }

  void touch(TensorId id, std::int32_t p, const Span& alive, const ops::Op& op) {
    const Tensor& tensor = program_.tensor(id);
    Span& span = spans_[static_cast<std::size_t>(id)];
    const bool in_iteration = program_.phases[static_cast<std::size_t>(p)].in_iteration;
    const bool of_one_phase =
        tensor.lifetime == Lifetime::kOps || tensor.lifetime == Lifetime::kPhase;
    if ((of_one_phase && span.phase >= 0 && span.phase != p) ||
        (tensor.lifetime == Lifetime::kIteration && !in_iteration)) {
      throw InternalError(
          fmt::format("'{}' touches '{}' outside its lifetime", op.label, tensor.name));
    }
    span.phase = p;
    switch (tensor.lifetime) {
      case Lifetime::kRun:
        span.include(run_.first, run_.last);
        break;
      case Lifetime::kIteration:
        span.include(iteration_.first, iteration_.last);
        break;
      case Lifetime::kPhase: {
        const Span& whole = phases_[static_cast<std::size_t>(p)];
        span.include(whole.first, whole.last);
        break;
      }
      case Lifetime::kOps:
        span.include(alive.first, alive.last);
        break;
    }
  }

  const program::Program& program_;
  const std::int64_t scratch_alignment_;
  std::vector<Span> spans_;
  std::vector<Span> phases_;
  Span run_, iteration_;
  std::vector<Block> scratch_;
};

}  // namespace

std::vector<Block> live_blocks(const program::Program& program) {
  return LivenessPass(program).run();
}

}  // namespace snug::plan
