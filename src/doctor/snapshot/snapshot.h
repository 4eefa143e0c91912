// What torch.cuda.memory._dump_snapshot() wrote, as far as the doctor needs it: the allocator's
// segments and blocks at one moment, and the life of every allocation that was recorded before it.
// Texts, frames and stacks are kept once; handles are indices.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace snug::doctor::snapshot {

struct Frame {
  std::uint32_t file = 0, function = 0;  // in Snapshot::texts
  std::int64_t line = 0;
};

// The call that allocated, innermost first. Stack 0 is empty: a call from C++ (the backward pass),
// or nothing was recorded.
constexpr std::uint32_t kNoStack = 0;
struct StackRange {
  std::uint32_t first = 0, count = 0;  // in Snapshot::stack_frames
};

enum class BlockState : std::uint8_t { kFree, kAllocated, kPendingFree };

constexpr std::uint32_t kNoLife = ~std::uint32_t{0};
struct Block {
  std::int64_t address = 0;
  std::int64_t bytes = 0;            // of the allocator
  std::int64_t requested_bytes = 0;  // of the tensor
  std::uint32_t stack = kNoStack;
  std::uint32_t life = kNoLife;  // its allocation, if that was recorded
  BlockState state = BlockState::kFree;
};

struct Segment {
  std::int64_t address = 0;
  std::int64_t bytes = 0;
  std::int64_t stream = 0;
  std::int64_t device = 0;
  std::uint32_t first_block = 0, block_count = 0;
  bool is_small = false, is_expandable = false;
  bool is_private = false;  // of a CUDA graph's pool, which others cannot use
};

// Events count from 0; the snapshot itself comes after the last.
constexpr std::uint32_t kNeverFreed = ~std::uint32_t{0};
struct Life {
  std::int64_t bytes = 0;  // of the tensor
  std::uint32_t stack = kNoStack;
  std::uint32_t born = 0;  // event
  std::uint32_t died = kNeverFreed;
  bool is_older = false;  // allocated before the record begins
};

struct HeldAt {
  std::int64_t address = 0;
  std::uint32_t life = 0;
};

struct OutOfMemory {
  std::uint32_t event = 0;
  std::int64_t request_bytes = 0;  // as the allocator rounds it
  std::int64_t device_free_bytes = 0;
  std::uint32_t stack = kNoStack;
  std::int64_t reserved_change_bytes = 0;  // of segments made or freed after it
  std::vector<HeldAt> held;                // what was allocated then and recorded
};

// What one device did.
struct Trace {
  std::deque<Life> lives;  // in the order of allocation
  std::uint32_t event_count = 0;
  std::uint32_t first_event = 0;  // earlier ones were let go: too many
  std::int64_t begin_us = 0, end_us = 0;
  std::optional<OutOfMemory> out_of_memory;  // the last
  std::int64_t out_of_memory_count = 0;
};

struct Snapshot {
  std::vector<std::string> texts;
  std::vector<Frame> frames;
  std::vector<std::uint32_t> stack_frames;
  std::vector<StackRange> stacks;
  std::vector<Segment> segments;
  std::vector<Block> blocks;
  std::int64_t device = 0;        // of the trace and of the blocks: the one that holds most
  std::int64_t device_count = 0;  // that hold anything
  Trace trace;
  bool expandable_segments = false;  // in allocator_settings
  std::string allocator_settings;    // PYTORCH_CUDA_ALLOC_CONF
  std::int64_t byte_count = 0;       // of the file
  bool is_cut = false;               // a limit was reached: some texts or stacks are missing

  std::span<const std::uint32_t> stack(std::uint32_t index) const {
    return std::span(stack_frames).subspan(stacks[index].first, stacks[index].count);
  }
  bool has_frames() const { return stacks.size() > 1; }
};

}  // namespace snug::doctor::snapshot
