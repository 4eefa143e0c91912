#include "card/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "watcher.h"

namespace emulator {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t rounded(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

bool is_small(std::size_t bytes) { return bytes <= CardMemory::kGranule / 2; }

// The allocation ends where its last page ends, and an unreadable page follows: rounding up to the
// card's 256 bytes leaves at most 255 bytes of slack.
struct Mapping {
  char* begin;
  std::size_t bytes;
};

Mapping mapping_of(const void* address, std::size_t bytes) {
  char* first = static_cast<char*>(const_cast<void*>(address));
  const std::size_t in_page = reinterpret_cast<std::uintptr_t>(address) % kPage;
  return {first - in_page, rounded(in_page + bytes, kPage) + kPage};
}

template <typename Map, typename Bytes>
bool within(const Map& map, const void* address, std::size_t bytes, Bytes bytes_of) {
  auto next = map.upper_bound(address);
  if (next == map.begin()) return false;
  --next;
  const char* begin = static_cast<const char*>(next->first);
  const char* wanted = static_cast<const char*>(address);
  return wanted + bytes <= begin + bytes_of(next->second);
}

}  // namespace

CardMemory::~CardMemory() { release_all(); }

void* CardMemory::allocate(std::size_t bytes, std::size_t room) {
  std::size_t &kind = is_small(bytes) ? small_bytes_ : large_bytes_, before = kind;
  kind += is_small(bytes) ? rounded(bytes, 512) : rounded(bytes, kGranule);
  if (occupied_bytes() > room) {
    kind = before;
    return nullptr;
  }
  const std::size_t padded = rounded(bytes, 256), mapped = rounded(padded, kPage) + kPage;
  void* base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    kind = before;
    return nullptr;
  }
  char* end = static_cast<char*>(base) + mapped - kPage;
  mprotect(end, kPage, PROT_NONE);
  char* address = end - padded;
  if (bytes <= kPoisonedBytes) std::memset(address, 0xFF, padded);
  allocations_[address] = bytes;
  use_.live_bytes += bytes;
  use_.high_water_bytes = std::max(use_.high_water_bytes, use_.live_bytes);
  ++use_.live_allocations;
  ++use_.allocations_ever;
  if (g_watcher) g_watcher->card_memory_appears(address, bytes);
  return address;
}

bool CardMemory::release(void* address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return false;
  const std::size_t bytes = found->second;
  if (g_watcher) g_watcher->card_memory_goes(address, bytes);
  const Mapping mapping = mapping_of(address, rounded(bytes, 256));
  munmap(mapping.begin, mapping.bytes);
  allocations_.erase(found);
  (is_small(bytes) ? small_bytes_ : large_bytes_) -=
      is_small(bytes) ? rounded(bytes, 512) : rounded(bytes, kGranule);
  use_.live_bytes -= bytes;
  --use_.live_allocations;
  return true;
}

void* CardMemory::allocate_pinned(std::size_t bytes) {
  void* address = mmap(nullptr, rounded(bytes, kPage), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  pinned_[address] = {bytes, true};
  use_.pinned_bytes += bytes;
  use_.pinned_high_water_bytes = std::max(use_.pinned_high_water_bytes, use_.pinned_bytes);
  return address;
}

bool CardMemory::release_pinned(void* address) {
  const auto found = pinned_.find(address);
  if (found == pinned_.end()) return false;
  if (found->second.owned) {
    munmap(address, rounded(found->second.bytes, kPage));
    use_.pinned_bytes -= found->second.bytes;
  }
  pinned_.erase(found);
  return true;
}

void CardMemory::release_all() {
  while (!allocations_.empty()) release(const_cast<void*>(allocations_.begin()->first));
  while (!pinned_.empty()) release_pinned(const_cast<void*>(pinned_.begin()->first));
}

bool CardMemory::on_card(const void* address, std::size_t bytes) const {
  return within(allocations_, address, bytes, [](std::size_t n) { return n; });
}

bool CardMemory::pinned(const void* address, std::size_t bytes) const {
  return within(pinned_, address, bytes, [](const Pinned& p) { return p.bytes; });
}

bool CardMemory::touches_card(const void* address) const {
  return within(allocations_, address, 1, [](std::size_t n) { return n; });
}

std::size_t CardMemory::occupied_bytes() const {
  return large_bytes_ + rounded(small_bytes_, kGranule);
}

}  // namespace emulator
