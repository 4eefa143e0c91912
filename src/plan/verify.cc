// The plan's verifier: a sweep over steps that knows only lifetimes and offsets.
#include <fmt/format.h>

#include <iterator>
#include <map>
#include <vector>

#include "base/error.h"
#include "plan/liveness.h"
#include "plan/plan.h"

namespace snug::plan {
namespace {

std::string name_of_block(const program::Program& program, const Block& block) {
  if (block.tensor != kNoTensor) return program.tensor(block.tensor).name;
  const program::Phase& phase = program.phases[static_cast<std::size_t>(block.phase)];
  return "scratch of " + phase.ops[static_cast<std::size_t>(block.op)].label;
}

ScratchPlace place_of(const Plan& plan, const Block& block) {
  if (block.tensor != kNoTensor) {
    return {plan.tensor_offset[static_cast<std::size_t>(block.tensor)], block.bytes};
  }
  return plan.scratch[static_cast<std::size_t>(block.phase)][static_cast<std::size_t>(block.op)];
}

struct Range {
  std::int64_t begin, end;
  const Block* block;
};

// The ranges alive at one step, by where they begin. Those that are in do not overlap.
class AliveRanges {
 public:
  explicit AliveRanges(const program::Program& program) : program_(program) {}

  void add(const Range& range) {
    const auto next = by_begin_.lower_bound(range.begin);
    if (next != by_begin_.end() && next->second->begin < range.end) refuse(range, *next->second);
    if (next != by_begin_.begin() && std::prev(next)->second->end > range.begin) {
      refuse(*std::prev(next)->second, range);
    }
    by_begin_.emplace_hint(next, range.begin, &range);
  }
  void remove(const Range& range) { by_begin_.erase(range.begin); }

 private:
  [[noreturn]] void refuse(const Range& a, const Range& b) const {
    throw InternalError(fmt::format("the plan puts '{}' and '{}' on the same bytes",
                                    name_of_block(program_, *a.block),
                                    name_of_block(program_, *b.block)));
  }

  const program::Program& program_;
  std::map<std::int64_t, const Range*> by_begin_;
};

Space space_of(const program::Program& program, const Plan& plan, const Block& block) {
  return block.tensor == kNoTensor ? plan.space : program.tensor(block.tensor).space;
}

Range checked_range(const program::Program& program, const Plan& plan, const Block& block) {
  const auto [begin, bytes] = place_of(plan, block);
  const Space space = space_of(program, plan, block);
  const std::int64_t arena_bytes = plan.arena_bytes_in(space);
  if (begin < 0 || begin % alignment_in(space) != 0 || begin + bytes > arena_bytes) {
    throw InternalError(fmt::format("the plan puts '{}' at byte {} of {}",
                                    name_of_block(program, block), begin, arena_bytes));
  }
  if (bytes < block.bytes) {
    throw InternalError(fmt::format("the plan grants '{}' {} of {} bytes",
                                    name_of_block(program, block), bytes, block.bytes));
  }
  return {begin, begin + bytes, &block};
}

void check_overlaps(const program::Program& program, std::size_t steps,
                    const std::vector<Range>& ranges) {
  std::vector<std::vector<const Range*>> first_at(steps), last_at(steps);
  for (const Range& range : ranges) {
    if (range.begin == range.end) continue;
    first_at[static_cast<std::size_t>(range.block->first)].push_back(&range);
    last_at[static_cast<std::size_t>(range.block->last)].push_back(&range);
  }
  AliveRanges alive(program);
  for (std::size_t step = 0; step < steps; ++step) {
    for (const Range* range : first_at[step]) alive.add(*range);
    for (const Range* range : last_at[step]) alive.remove(*range);
  }
}

}  // namespace

void verify_plan(const program::Program& program, const Plan& plan) {
  const std::vector<Block> blocks = live_blocks(program);
  for (const Space space : {Space::kHost, Space::kPinned, Space::kDevice}) {
    std::vector<Range> ranges;
    for (const Block& block : blocks) {
      if (space_of(program, plan, block) != space) continue;
      ranges.push_back(checked_range(program, plan, block));
    }
    check_overlaps(program, plan.steps.size(), ranges);
  }
}

}  // namespace snug::plan
