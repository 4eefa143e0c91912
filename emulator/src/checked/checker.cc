#include "checked/checker.h"

#include "card/card_state.h"
#include "card/limits.h"
#include "checked/source_lines.h"
#include "emulator/regions.h"

namespace emulator {
namespace {

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

std::string bytes_text(std::size_t bytes) { return std::to_string(bytes) + " bytes"; }

}  // namespace

Checker& checker() {
  static Checker& one = *new Checker;  // kernels may run while statics are destroyed
  return one;
}

void Checker::card_memory_appears(void* address, std::size_t bytes) {
  addresses.add(address, bytes);
}

void Checker::card_memory_goes(void* address, std::size_t bytes) {
  addresses.remove(address);
  shadow.forget(number(address), bytes);
}

void Checker::card_memory_written(void* address, std::size_t bytes) {
  if (!addresses.find(number(address), 1)) return;
  for (std::size_t i = 0; i < bytes; ++i) shadow[number(address) + i].defined = true;
}

void Checker::launch_begins(const KernelCall& call, const LaunchShape& shape) {
  ++launch_;
  call_ = &call;
  counting_ = requests.on ? &counts[kernel_name(call.function())] : nullptr;
  if (!counting_) return;
  ++counting_->launches;
  cache.start(card_state().settings ? card_state().settings->l2_bytes : 0,
              std::size_t{shape.grid.x} * shape.grid.y * shape.grid.z);
}

void Checker::launch_ends() {
  if (!counting_) return;
  cache.finish();
  counting_->memory_read += cache.sectors_fetched() * kSectorBytes;
  counting_->memory_written += cache.sectors_written() * kSectorBytes;
}

void Checker::block_begins(Block& block) {
  for (const SharedObject& object : block.shared_objects()) {
    shadow.forget(number(object.address), object.bytes);
  }
  if (counting_) ++counting_->blocks;
}

void Checker::block_ends(Block& block) {
  if (counting_) count_block(block);
}

void Checker::count_block(Block& block) {
  Counts& now = *counting_;
  now.block_barriers += block.epoch();
  const dim3 threads = block.shape().block;
  now.threads_per_block = std::uint64_t{threads.x} * threads.y * threads.z;
  now.shared_per_block = 0;
  for (const SharedObject& object : block.shared_objects()) now.shared_per_block += object.bytes;
  const CardSettings card = card_state().settings.value_or(CardSettings());
  now.blocks_at_once = blocks_of_multiprocessor(card, now.threads_per_block, now.shared_per_block);
  cache.add(requests.block_ends(now),
            now.blocks_at_once * static_cast<std::size_t>(card.multiprocessors));
}

void Checker::shared_appears(Block&, void* object, std::size_t bytes) {
  shadow.forget(number(object), bytes);
}

Stamp Checker::stamp(Lane& lane, std::uint32_t place) const {
  const std::uint64_t block =
      lane.block.x +
      static_cast<std::uint64_t>(lane.grid_shape.x) *
          (lane.block.y + static_cast<std::uint64_t>(lane.grid_shape.y) * lane.block.z);
  Stamp now;
  now.launch = launch_;
  now.block = static_cast<std::uint32_t>(block);
  now.epoch = static_cast<std::uint32_t>(lane.owner->epoch());
  now.warp_epoch = static_cast<std::uint32_t>(lane.owner->warp_of(lane).epoch);
  now.thread = static_cast<std::uint16_t>(lane.index);
  now.place = place;
  return now;
}

std::string Checker::describe(const Lane& lane, std::uintptr_t address) {
  for (const SharedObject& object : lane.owner->shared_objects()) {
    const std::uintptr_t begin = number(object.address);
    if (address < begin || address >= begin + object.bytes) continue;
    return "byte " + std::to_string(address - begin) + " of a shared object of " +
           bytes_text(object.bytes);
  }
  if (const Region* region = addresses.find(address, 1)) {
    return "byte " + std::to_string(address - region->begin) + " of " + region->name;
  }
  return "an unknown byte";
}

Checker::Where Checker::locate(Lane& lane, std::uintptr_t address, std::size_t bytes, Access kind,
                               std::uint32_t place) {
  if (address >= number(lane.stack->low()) && address < number(lane.stack->high())) {
    return Where::kOwn;
  }
  const char* does = kind == Access::kRead ? "reads " : "writes ";
  const std::uintptr_t shared = number(lane.owner->shared_begin());
  if (address >= shared && address < shared + Block::kSharedRoom) {
    for (const SharedObject& object : lane.owner->shared_objects()) {
      const std::uintptr_t begin = number(object.address);
      if (address >= begin && address + bytes <= begin + object.bytes) return Where::kShared;
    }
    lane.owner->abandon(FaultKind::kOutOfBounds, does + bytes_text(bytes) +
                                                     " outside of every shared "
                                                     "object at " +
                                                     source_line(place));
  }
  if (addresses.find(address, bytes)) return Where::kCard;
  const bool is_argument =
      address >= number(call_) && address < number(call_) + call_->object_bytes();
  if (kind == Access::kRead && (is_argument || addresses.is_constant(address))) return Where::kOwn;
  const std::string nearest = addresses.nearest(address);
  if (!nearest.empty()) {
    lane.owner->abandon(FaultKind::kOutOfBounds,
                        does + bytes_text(bytes) + " at " + source_line(place) + ", " + nearest);
  }
  lane.owner->abandon(FaultKind::kHostPointer, does + bytes_text(bytes) + " at " +
                                                   source_line(place) + " that are not the card's");
}

void Checker::fail_race(Lane& lane, const Stamp& before, const char* did, const char* does,
                        std::uintptr_t address, const Stamp& now) {
  lane.owner->abandon(FaultKind::kRace, std::string(does) + " " + describe(lane, address) + " at " +
                                            source_line(now.place) + ", which thread " +
                                            std::to_string(before.thread) + " of block " +
                                            std::to_string(before.block) + " " + did + " at " +
                                            source_line(before.place) +
                                            " with no barrier between them");
}

void Checker::check_byte(Lane& lane, Cell& cell, std::uintptr_t address, Access kind, Where where,
                         const Stamp& now) {
  if (cell.pending) {
    lane.owner->abandon(FaultKind::kPendingCopy, "touches " + describe(lane, address) + " at " +
                                                     source_line(now.place) +
                                                     " before the wait for its asynchronous copy");
  }
  const char* does = kind == Access::kRead    ? "reads"
                     : kind == Access::kWrite ? "writes"
                                              : "updates";
  const bool both_atomic = kind == Access::kUpdate && cell.write.atomic;
  if (!both_atomic && !ordered(cell.write, now)) {
    fail_race(lane, cell.write, cell.write.atomic ? "updates" : "writes", does, address, now);
  }
  if (kind != Access::kRead && !ordered(cell.read, now)) {
    fail_race(lane, cell.read, "reads", does, address, now);
  }
  if (kind != Access::kWrite && !cell.defined) {
    lane.owner->abandon(FaultKind::kUninitialised,
                        std::string(does) + " " + describe(lane, address) + " at " +
                            source_line(now.place) + ", which nobody has written");
  }
  if (counting_ && where == Where::kCard) {
    if (kind == Access::kRead && cell.read.launch != launch_) ++counting_->distinct_read;
    if (kind != Access::kRead && cell.write.launch != launch_) ++counting_->distinct_written;
  }
  if (kind == Access::kRead) cell.read = joined(cell.read, now);
  if (kind != Access::kRead) {
    cell.write = now;
    cell.write.atomic = kind == Access::kUpdate;
    cell.defined = true;
  }
}

void Checker::check_bytes(Lane& lane, std::uintptr_t address, std::size_t bytes, Access kind,
                          Where where, std::uint32_t place) {
  const Stamp now = stamp(lane, place);
  if (counting_) {
    requests.access(lane, address, bytes, where == Where::kShared, kind != Access::kRead, place);
    if (where == Where::kCard) {
      if (kind != Access::kWrite) counting_->bytes_read += bytes;
      if (kind != Access::kRead) counting_->bytes_written += bytes;
    }
  }
  for (std::size_t i = 0; i < bytes; ++i) {
    check_byte(lane, shadow[address + i], address + i, kind, where, now);
  }
}

void Checker::access(const void* pointer, std::size_t bytes, Access kind, const void* pc) {
  if (!t_lane) return;
  Lane& lane = const_cast<Lane&>(static_cast<const Lane&>(*t_lane));
  const std::uintptr_t address = number(pointer);
  if (address >= number(lane.stack->low()) && address < number(lane.stack->high())) return;
  // threadIdx and its like.
  if (address == number(&t_lane) || address - number(&lane) < sizeof(LaneIdentity)) return;
  const std::uint32_t place = code_place(pc);
  const Where where = locate(lane, address, bytes, kind, place);
  if (where == Where::kOwn) return;
  const bool has_width = bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
  if (has_width && address % bytes != 0) {
    lane.owner->abandon(FaultKind::kMisaligned, bytes_text(bytes) + " at " + source_line(place) +
                                                    ": " + describe(lane, address) +
                                                    " is not a multiple of that");
  }
  check_bytes(lane, address, bytes, kind, where, place);
}

void Checker::lane_reads(const void* address, std::size_t bytes, const void* pc) {
  access(address, bytes, Access::kRead, pc);
}

void Checker::lane_writes(const void* address, std::size_t bytes, const void* pc) {
  access(address, bytes, Access::kWrite, pc);
}

void Checker::lane_updates(const void* address, std::size_t bytes, const void* pc) {
  access(address, bytes, Access::kUpdate, pc);
}

// The target is written from now on, whoever still reads it; the source is read.
void Checker::copy_issued(Lane& lane, void* target, std::size_t bytes, const void* source,
                          std::size_t source_bytes, const Site& site) {
  const void* here = __builtin_return_address(0);
  if (locate(lane, number(target), bytes, Access::kWrite, code_place(here)) != Where::kShared) {
    lane.owner->abandon(FaultKind::kOutOfBounds,
                        "cp.async at " + place(site) + " to a target outside of shared memory");
  }
  if (source_bytes > 0) access(source, source_bytes, Access::kRead, here);
  check_bytes(lane, number(target), bytes, Access::kWrite, Where::kShared, code_place(here));
  for (std::size_t i = 0; i < bytes; ++i) shadow[number(target) + i].pending = true;
}

void Checker::copy_landed(Lane& lane, void* target, std::size_t bytes) {
  const Stamp now = stamp(lane, code_place(__builtin_return_address(0)));
  for (std::size_t i = 0; i < bytes; ++i) {
    Cell& cell = shadow[number(target) + i];
    cell.pending = false;
    cell.defined = true;
    cell.write = now;
  }
}

void Checker::lane_ran_mma(Lane&, std::size_t multiply_adds) {
  if (counting_) counting_->multiply_adds += multiply_adds;
}

}  // namespace emulator
