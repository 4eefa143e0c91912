#include "plan/plan.h"

#include <algorithm>

#include "plan/liveness.h"
#include "plan/packing.h"

namespace snug::plan {
namespace {

// Fills steps, peak and phase maxima from the blocks' lifetimes.
void add_timeline(const program::Program& program, const std::vector<Block>& blocks, Plan& plan) {
  for (std::size_t p = 0; p < program.phases.size(); ++p) {
    for (std::size_t o = 0; o < program.phases[p].ops.size(); ++o) {
      plan.steps.push_back({static_cast<std::int32_t>(p), static_cast<std::int32_t>(o), 0, {}});
    }
  }
  std::vector<RoleBytes> change(plan.steps.size() + 1, RoleBytes{});
  for (const Block& block : blocks) {
    const auto role = static_cast<std::size_t>(block.role);
    change[static_cast<std::size_t>(block.first)][role] += block.bytes;
    change[static_cast<std::size_t>(block.last) + 1][role] -= block.bytes;
  }
  RoleBytes alive{};
  plan.phase_bytes.assign(program.phases.size(), 0);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    PlanStep& step = plan.steps[s];
    for (std::size_t role = 0; role < alive.size(); ++role) {
      alive[role] += change[s][role];
      step.live_bytes = checked_add(step.live_bytes, alive[role]);
    }
    step.by_role = alive;
    std::int64_t& phase_bytes = plan.phase_bytes[static_cast<std::size_t>(step.phase)];
    phase_bytes = std::max(phase_bytes, step.live_bytes);
    if (step.live_bytes > plan.lower_bound_bytes) {
      plan.lower_bound_bytes = step.live_bytes;
      plan.peak_step = s;
    }
  }
}

// Leaves those of one space; scratch lies in the one that the ops compute in.
std::vector<Block> blocks_in(Space space, const program::Program& program,
                             std::vector<Block> blocks) {
  const Space own = compute_space(program);
  std::erase_if(blocks, [&](const Block& block) {
    return (block.tensor == kNoTensor ? own : program.tensor(block.tensor).space) != space;
  });
  return blocks;
}

std::int64_t peak_live_bytes(const program::Program& program, const std::vector<Block>& blocks) {
  Plan plan;
  add_timeline(program, blocks, plan);
  return plan.lower_bound_bytes;
}

// The tensors' blocks, then one block per phase in place of its ops' scratch.
std::vector<Block> with_shared_scratch(const std::vector<Block>& blocks) {
  std::vector<Block> shared, workspaces;
  for (const Block& block : blocks) {
    if (block.tensor != kNoTensor) {
      shared.push_back(block);
    } else if (workspaces.empty() || workspaces.back().phase != block.phase) {
      workspaces.push_back(block);
    } else {
      Block& workspace = workspaces.back();
      workspace.bytes = std::max(workspace.bytes, block.bytes);
      workspace.last = block.last;
    }
  }
  shared.insert(shared.end(), workspaces.begin(), workspaces.end());
  return shared;
}

void place(const program::Program& program, const std::vector<Block>& blocks,
           const Packing& packing, Plan& plan) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& block = blocks[i];
    if (block.tensor != kNoTensor) {
      plan.tensor_offset[static_cast<std::size_t>(block.tensor)] = packing.offset[i];
      continue;
    }
    const auto p = static_cast<std::size_t>(block.phase);
    const auto first = static_cast<std::size_t>(block.op);
    const auto end = first + static_cast<std::size_t>(block.last - block.first) + 1;
    for (std::size_t o = first; o < end; ++o) {
      if (program.phases[p].ops[o].scratch_bytes == 0) continue;
      plan.scratch[p][o] = {packing.offset[i], block.bytes};
    }
  }
}

}  // namespace

Space compute_space(const program::Program& program) {
  const auto is_remote = [](const Tensor& tensor) { return tensor.space == Space::kDevice; };
  return std::ranges::any_of(program.tensors, is_remote) ? Space::kDevice : Space::kHost;
}

std::int64_t Plan::arena_bytes_in(Space where) const {
  if (where == space) return arena_bytes;
  const auto found = std::ranges::find(shared_arenas, where, &SharedArena::space);
  return found == shared_arenas.end() ? 0 : found->byte_count;
}

std::int64_t peak_live_bytes(const program::Program& program) {
  return peak_live_bytes(program, blocks_in(compute_space(program), program, live_blocks(program)));
}

namespace {

// Packs what the ops compute with.
void pack_own_space(const program::Program& program, const std::vector<Block>& blocks, Plan& plan) {
  add_timeline(program, blocks, plan);
  // Scratch that stays where it is stays in the cache; but not a byte is spent on that.
  const std::vector<Block> shared = with_shared_scratch(blocks);
  if (peak_live_bytes(program, shared) == plan.lower_bound_bytes) {
    const Packing packing = pack(shared, plan.lower_bound_bytes);
    if (packing.total_bytes == plan.lower_bound_bytes) {
      plan.arena_bytes = packing.total_bytes;
      place(program, shared, packing, plan);
      return;
    }
  }
  const Packing packing = pack(blocks, plan.lower_bound_bytes);
  plan.arena_bytes = packing.total_bytes;
  place(program, blocks, packing, plan);
}

void pack_shared_space(Space space, const program::Program& program,
                       const std::vector<Block>& blocks, Plan& plan) {
  if (blocks.empty()) return;
  const Packing packing = pack(blocks, peak_live_bytes(program, blocks));
  plan.shared_arenas.push_back({space, packing.total_bytes});
  place(program, blocks, packing, plan);
}

Plan packed_plan(const program::Program& program) {
  Plan plan;
  plan.space = compute_space(program);
  plan.tensor_offset.assign(program.tensors.size(), -1);
  for (const program::Phase& phase : program.phases) plan.scratch.emplace_back(phase.ops.size());
  const std::vector<Block> blocks = live_blocks(program);
  for (const Space space : {Space::kHost, Space::kPinned, Space::kDevice}) {
    const std::vector<Block> here = blocks_in(space, program, blocks);
    if (space == plan.space) {
      pack_own_space(program, here, plan);
    } else {
      pack_shared_space(space, program, here, plan);
    }
  }
  return plan;
}

}  // namespace

Plan make_plan(const program::Program& program) {
  Plan plan = packed_plan(program);
#ifndef NDEBUG
  verify_plan(program, plan);
#endif
  return plan;
}

}  // namespace snug::plan
