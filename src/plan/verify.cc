// The plan's verifier: a sweep over steps that knows only lifetimes and offsets.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "plan/liveness.h"
#include "plan/plan.h"

namespace snug {
namespace {

std::string name_of_block(const Program& program, const Block& block) {
  if (block.tensor != kNoTensor) return program.tensor(block.tensor).name;
  const Phase& phase = program.phases[static_cast<std::size_t>(block.phase)];
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

void check_step(const Program& program, std::vector<Range>& alive) {
  std::sort(alive.begin(), alive.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < alive.size(); ++i) {
    if (alive[i].begin < alive[i - 1].end) {
      throw InternalError(fmt::format("the plan puts '{}' and '{}' on the same bytes",
                                      name_of_block(program, *alive[i - 1].block),
                                      name_of_block(program, *alive[i].block)));
    }
  }
}

}  // namespace

void verify_plan(const Program& program, const Plan& plan) {
  const std::vector<Block> blocks = live_blocks(program);
  std::vector<Range> ranges;
  for (const Block& block : blocks) {
    const auto [begin, bytes] = place_of(plan, block);
    if (begin < 0 || begin % kTensorAlignment != 0 || begin + bytes > plan.arena_bytes) {
      throw InternalError(fmt::format("the plan puts '{}' at byte {} of {}",
                                      name_of_block(program, block), begin, plan.arena_bytes));
    }
    if (bytes < block.bytes) {
      throw InternalError(fmt::format("the plan grants '{}' {} of {} bytes",
                                      name_of_block(program, block), bytes, block.bytes));
    }
    ranges.push_back({begin, begin + bytes, &block});
  }
  for (std::int32_t step = 0; step < static_cast<std::int32_t>(plan.steps.size()); ++step) {
    std::vector<Range> alive;
    for (const Range& range : ranges) {
      if (range.block->first <= step && step <= range.block->last) alive.push_back(range);
    }
    check_step(program, alive);
  }
}

}  // namespace snug
