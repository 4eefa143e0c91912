// What kernels did wrong. A fault ends its block and makes the card's error sticky, as on a card;
// here it also says what, where and by whom.
#pragma once

#include <string>
#include <vector>

namespace emulator {

enum class FaultKind {
  kDeadlock,      // lanes wait for others that never come
  kDivergence,    // lanes of one barrier or shuffle stand at different places
  kExitedLane,    // a shuffle or __syncwarp names a lane that has returned
  kSharedMemory,  // more shared memory than the card grants
  kOutOfBounds,   // checked build, like all below
  kRace,
  kUninitialised,
  kMisaligned,
  kPendingCopy,  // a target of cp.async touched before its wait
  kHostPointer,
};

struct Fault {
  FaultKind kind;
  std::string kernel;
  unsigned block[3] = {}, thread[3] = {};
  std::string text;  // one line, with the places in the source

  std::string describe() const;
};

const char* name_of(FaultKind kind);

// The faults since the last call, oldest first; at most kFaultsKept of one launch are told apart.
inline constexpr std::size_t kFaultsKept = 16;
std::vector<Fault> take_faults();

// Faults are printed to standard error as they happen unless this is off (tests that want them).
void print_faults(bool on);

}  // namespace emulator
