// The built-ins' way into the block of the running lane.
#include "emulator/lane.h"

#include <cstring>

#include "barrier_deleted.h"
#include "block.h"
#include "cuda_shim/atomics.h"
#include "emulator/access.h"
#include "watcher.h"

namespace emulator {
namespace {

Lane& self() { return const_cast<Lane&>(static_cast<const Lane&>(*t_lane)); }
Block& block() { return *self().owner; }

void land(Lane& lane, const AsyncCopy& copy) {
  std::memcpy(copy.target, copy.source, copy.source_bytes);
  std::memset(static_cast<char*>(copy.target) + copy.source_bytes, 0,
              copy.bytes - copy.source_bytes);
  if (g_watcher) g_watcher->copy_landed(lane, copy.target, copy.bytes);
}

}  // namespace

void block_barrier(const Site& site) {
  if (!barrier_deleted(site)) block().barrier(site);
}

int block_count(int predicate, const Site& site) { return block().count(predicate, site); }

void warp_meet(std::uint32_t mask, void* argument, Together together, const char* what,
               const Site& site) {
  block().meet(mask, argument, together, what, site);
}

void warp_barrier(std::uint32_t mask, const Site& site) {
  if (!barrier_deleted(site)) block().warp_barrier(mask, site);
}

std::uint32_t active_lanes() {
  const Warp& warp = block().warp_of(self());
  return warp.present & ~warp.returned;
}

void* shared_object(const void* declaration, std::size_t bytes, std::size_t alignment) {
  return block().shared_object(declaration, bytes, alignment);
}

void* dynamic_shared() { return block().dynamic_shared(); }

void copy_async(void* target, const void* source, std::size_t bytes, std::size_t source_bytes,
                const Site& site) {
  Lane& lane = self();
  const auto address = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
  if (address(target) % bytes || address(source) % bytes) {
    block().fail(FaultKind::kMisaligned, "cp.async at " + place(site) + " of " +
                                             std::to_string(bytes) + " bytes is not aligned");
  }
  if (g_watcher) g_watcher->copy_issued(lane, target, bytes, source, source_bytes, site);
  std::memset(target, 0xFF, bytes);
  lane.copies.push_back({target, source, bytes, source_bytes, lane.copy_group});
}

void copy_async_commit() { ++self().copy_group; }

void copy_async_wait(unsigned groups_left, const Site& site) {
  if (barrier_deleted(site)) return;
  Lane& lane = self();
  std::size_t kept = 0;
  for (const AsyncCopy& copy : lane.copies) {
    if (copy.group + groups_left < lane.copy_group) {
      land(lane, copy);
    } else {
      lane.copies[kept++] = copy;
    }
  }
  lane.copies.resize(kept);
}

void read_wide(void* value, const void* address, std::size_t bytes) {
  if (g_watcher) g_watcher->lane_reads(address, bytes, __builtin_return_address(0));
  std::memcpy(value, address, bytes);
}

void write_wide(void* address, const void* value, std::size_t bytes) {
  if (g_watcher) g_watcher->lane_writes(address, bytes, __builtin_return_address(0));
  std::memcpy(address, value, bytes);
}

void atomic_access(const void* address, std::size_t bytes) {
  if (g_watcher) g_watcher->lane_updates(address, bytes, __builtin_return_address(0));
}

void count_mma(std::uint64_t multiply_adds) {
  if (g_watcher) g_watcher->lane_ran_mma(self(), multiply_adds);
}

}  // namespace emulator
