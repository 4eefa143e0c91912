#include "doctor/snapshot/moment.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "doctor/torch/allocator.h"

namespace snug::doctor::snapshot {
namespace {

class MomentBuilder {
 public:
  void add(const Name& name, std::int64_t bytes) {
    moment_.bytes[static_cast<std::size_t>(name.role)] += bytes;
    Name of_all = name;
    of_all.layer = -1;
    Row& row = rows_[of_all];
    row.held.bytes += bytes;
    ++row.held.count;
    if (name.layer >= 0) row.layers.insert(name.layer);
  }

  Moment finish() {
    for (auto& [name, row] : rows_) {
      row.held.name = name;
      row.held.layer_count = static_cast<std::int64_t>(row.layers.size());
      moment_.rows.push_back(row.held);
    }
    std::stable_sort(moment_.rows.begin(), moment_.rows.end(),
                     [](const HeldTensors& a, const HeldTensors& b) { return a.bytes > b.bytes; });
    return std::move(moment_);
  }

 private:
  struct Row {
    HeldTensors held;
    std::set<std::int32_t> layers;
  };
  Moment moment_;
  std::map<Name, Row> rows_;
};

// A piece of a segment that is in use.
struct Used {
  std::int64_t address, bytes;
};

void measure(const Segment& segment, std::vector<Used> used, FreeMemory& memory) {
  std::sort(used.begin(), used.end(),
            [](const Used& a, const Used& b) { return a.address < b.address; });
  const auto add_gap = [&](std::int64_t bytes) {
    if (bytes <= 0) return;
    if (segment.is_private) {
      memory.private_free_bytes += bytes;
    } else if (segment.is_small) {
      memory.small_free_bytes += bytes;
    } else {
      memory.free_bytes += bytes;
      memory.largest_bytes = std::max(memory.largest_bytes, bytes);
      ++memory.piece_count;
    }
  };
  std::int64_t at = 0;  // from the segment's beginning
  for (const Used& piece : used) {
    const std::int64_t offset = piece.address - segment.address;
    if (offset < at || offset > segment.bytes - piece.bytes) continue;  // no such place
    add_gap(offset - at);
    at = offset + piece.bytes;
    memory.allocated_bytes += piece.bytes;
  }
  add_gap(segment.bytes - at);
  memory.reserved_bytes += segment.bytes;
}

bool is_used(const Block& block) { return block.state != BlockState::kFree; }

}  // namespace

std::int64_t Moment::total_bytes() const {
  std::int64_t total = 0;
  for (const std::int64_t role : bytes) total += role;
  return total;
}

std::int64_t Moment::named_bytes() const {
  return total_bytes() - bytes[static_cast<std::size_t>(Role::kUnknown)];
}

Moment held_now(const Snapshot& snapshot, const Names& names) {
  MomentBuilder builder;
  for (const Segment& segment : snapshot.segments) {
    for (std::uint32_t i = 0; i < segment.block_count; ++i) {
      const std::uint32_t index = segment.first_block + i;
      const Block& block = snapshot.blocks[index];
      if (is_used(block)) builder.add(names.of_block(index), block.requested_bytes);
    }
  }
  return builder.finish();
}

// What the record saw and had not seen freed, and what was there before it and still is.
Moment held_at_failure(const Snapshot& snapshot, const Names& names) {
  MomentBuilder builder;
  for (const Segment& segment : snapshot.segments) {
    for (std::uint32_t i = 0; i < segment.block_count; ++i) {
      const std::uint32_t index = segment.first_block + i;
      const Block& block = snapshot.blocks[index];
      if (is_used(block) && block.life == kNoLife)
        builder.add(names.of_block(index), block.requested_bytes);
    }
  }
  for (const HeldAt& held : snapshot.trace.out_of_memory->held) {
    builder.add(names.of_life(held.life), snapshot.trace.lives[held.life].bytes);
  }
  return builder.finish();
}

FreeMemory free_now(const Snapshot& snapshot) {
  FreeMemory memory;
  for (const Segment& segment : snapshot.segments) {
    std::vector<Used> used;
    for (std::uint32_t i = 0; i < segment.block_count; ++i) {
      const Block& block = snapshot.blocks[segment.first_block + i];
      if (is_used(block)) used.push_back({block.address, block.bytes});
    }
    measure(segment, std::move(used), memory);
  }
  return memory;
}

// The segments of now, with what was in them then: those that were freed in between are not known,
// and a failure frees all that are empty before it is told.
FreeMemory free_at_failure(const Snapshot& snapshot) {
  const OutOfMemory& failure = *snapshot.trace.out_of_memory;
  FreeMemory memory;
  for (const Segment& segment : snapshot.segments) {
    std::vector<Used> used;
    for (std::uint32_t i = 0; i < segment.block_count; ++i) {
      const Block& block = snapshot.blocks[segment.first_block + i];
      if (is_used(block) && block.life == kNoLife) used.push_back({block.address, block.bytes});
    }
    auto held =
        std::lower_bound(failure.held.begin(), failure.held.end(), segment.address,
                         [](const HeldAt& a, std::int64_t address) { return a.address < address; });
    for (; held != failure.held.end() && held->address - segment.address < segment.bytes; ++held) {
      const std::int64_t bytes = snapshot.trace.lives[held->life].bytes;
      used.push_back({held->address, torch::allocator_rounding(bytes)});
    }
    measure(segment, std::move(used), memory);
  }
  return memory;
}

}  // namespace snug::doctor::snapshot
