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

void Shadow::forget(std::uintptr_t address, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (pages_.contains((address + i) / kPageBytes)) (*this)[address + i] = Cell();
  }
}

}  // namespace emulator
