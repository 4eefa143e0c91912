// Plan: where every tensor of a Program lies in the arena, and what that adds up to. The arena is
// allocated from arena_bytes and bound from the offsets: the plan is the allocation.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "program/program.h"

namespace snug {

constexpr std::int64_t kTensorAlignment = 64;  // a cache line, and the widest vector

using RoleBytes = std::array<std::int64_t, kRoleCount>;

// What is alive while one op runs. Sizes are aligned, scratch counts as workspace.
struct PlanStep {
  std::int32_t phase;  // index into Program::phases
  std::int32_t op;     // index into that phase's ops
  std::int64_t live_bytes;
  RoleBytes by_role;
};

// What an op is granted: at least what it booked.
struct ScratchPlace {
  std::int64_t offset = -1, byte_count = 0;
};

struct Plan {
  std::vector<std::int64_t> tensor_offset;         // per tensor
  std::vector<std::vector<ScratchPlace>> scratch;  // per phase, per op
  std::int64_t arena_bytes = 0;
  std::int64_t lower_bound_bytes = 0;     // most bytes alive at once: no packing can need less
  std::vector<PlanStep> steps;            // every op of every phase, in order
  std::size_t peak_step = 0;              // where lower_bound_bytes is reached first
  std::vector<std::int64_t> phase_bytes;  // most bytes alive at once in each phase

  double packing_ratio() const {
    return lower_bound_bytes == 0
               ? 1.0
               : static_cast<double>(arena_bytes) / static_cast<double>(lower_bound_bytes);
  }
};

// Plan::lower_bound_bytes alone, without placing anything.
std::int64_t most_live_bytes(const Program& program);

// Throws InternalError when a tensor is touched outside its lifetime. Where assertions are on, the
// plan is verified before it is returned.
Plan make_plan(const Program& program);

// Throws InternalError naming both tensors when two that are alive together share a byte, or when
// one lies outside the arena or off its alignment. Knows nothing of how make_plan placed them, but
// trusts the same lifetimes; those are held to be right by laws_test, which poisons dead bytes.
void verify_plan(const Program& program, const Plan& plan);

}  // namespace snug
