#include "checked/shadow.h"

namespace emulator {

bool ordered(const Stamp& before, const Stamp& now) {
  if (before.launch != now.launch) return true;
  if (before.several_blocks || before.block != now.block) return false;
  if (before.epoch < now.epoch) return true;
  if (before.several_warps || before.thread / 32 != now.thread / 32) return false;
  if (before.warp_epoch < now.warp_epoch) return true;
  return !before.several_lanes && before.thread == now.thread;
}

Stamp joined(const Stamp& before, const Stamp& now) {
  if (ordered(before, now)) return now;
  Stamp both = now;
  both.several_blocks = before.several_blocks || before.block != now.block;
  both.several_warps = before.several_warps || before.thread / 32 != now.thread / 32;
  both.several_lanes = before.several_lanes || before.thread != now.thread;
  return both;
}

template <typename Visit>
void Shadow::for_each_known(std::uintptr_t address, std::size_t bytes, Visit visit) {
  const std::uintptr_t end = address + bytes;
  while (address < end) {
    const std::uintptr_t page_end = (address / kPageBytes + 1) * kPageBytes;
    const std::uintptr_t stop = page_end < end ? page_end : end;
    if (const auto page = pages_.find(address / kPageBytes); page != pages_.end()) {
      for (std::uintptr_t at = address; at < stop; ++at) visit((*page->second)[at % kPageBytes]);
    }
    address = stop;
  }
}

void Shadow::forget(std::uintptr_t address, std::size_t bytes) {
  for_each_known(address, bytes, [](Cell& cell) { cell = Cell(); });
}

void Shadow::undefine(std::uintptr_t address, std::size_t bytes) {
  for_each_known(address, bytes, [](Cell& cell) { cell.defined = false; });
}

}  // namespace emulator
