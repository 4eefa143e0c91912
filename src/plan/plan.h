// Plan: where every tensor of a Program lies in the arena of its memory space, and what that adds
// up to. The arenas are allocated from their sizes and bound from the offsets: the plan is the
// allocation.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "program/program.h"

namespace snug::plan {

// What tensors and scratch begin on. The host: a cache line, and the widest vector. A card: what
// cudaMalloc gives, and cuBLASLt expects of a workspace.
constexpr std::int64_t alignment_in(Space space) { return space == Space::kDevice ? 256 : 64; }

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

// The arena of a space beside the one that the ops compute in: what the host and a device share.
struct SharedArena {
  Space space;
  std::int64_t byte_count;
};

struct Plan {
  std::vector<std::int64_t> tensor_offset;         // per tensor, in the arena of its space
  std::vector<std::vector<ScratchPlace>> scratch;  // per phase, per op; in the arena of `space`
  std::vector<SharedArena> shared_arenas;          // of the other spaces that the program uses
  // What follows is of the space that the ops compute in.
  Space space = Space::kHost;
  std::int64_t arena_bytes = 0;
  std::int64_t lower_bound_bytes = 0;     // maximum of the bytes alive: no packing can need less
  std::vector<PlanStep> steps;            // every op of every phase, in order
  std::size_t peak_step = 0;              // where lower_bound_bytes is reached first
  std::vector<std::int64_t> phase_bytes;  // maximum of the bytes alive in each phase

  // 0 for a space that the program does not use.
  std::int64_t arena_bytes_in(Space where) const;

  double packing_ratio() const {
    return lower_bound_bytes == 0
               ? 1.0
               : static_cast<double>(arena_bytes) / static_cast<double>(lower_bound_bytes);
  }
};

// The device's memory where the program has tensors there, else the host's.
Space compute_space(const program::Program& program);

// Plan::lower_bound_bytes alone, without placing anything.
std::int64_t peak_live_bytes(const program::Program& program);

// Throws InternalError when a tensor is touched outside its lifetime. Where assertions are on, the
// plan is verified before it is returned.
Plan make_plan(const program::Program& program);

// Throws InternalError naming both tensors when two that are alive together share a byte, or when
// one lies outside the arena or off its alignment. Knows nothing of how make_plan placed them, but
// trusts the same lifetimes; those are held to be right by laws_test, which poisons dead bytes.
void verify_plan(const program::Program& program, const Plan& plan);

}  // namespace snug::plan
