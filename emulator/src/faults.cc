#include "emulator/faults.h"

#include <cstdio>
#include <mutex>
#include <utility>

#include "fault_log.h"

namespace emulator {
namespace {

std::mutex g_mutex;
std::vector<Fault> g_faults;
bool g_print = true;

std::string coordinates(const unsigned (&at)[3]) {
  return "(" + std::to_string(at[0]) + "," + std::to_string(at[1]) + "," + std::to_string(at[2]) +
         ")";
}

}  // namespace

const char* name_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::kDeadlock:
      return "deadlock";
    case FaultKind::kDivergence:
      return "divergence";
    case FaultKind::kExitedLane:
      return "exited lane";
    case FaultKind::kSharedMemory:
      return "shared memory";
    case FaultKind::kOutOfBounds:
      return "out of bounds";
    case FaultKind::kRace:
      return "race";
    case FaultKind::kUninitialised:
      return "uninitialised read";
    case FaultKind::kMisaligned:
      return "misaligned";
    case FaultKind::kPendingCopy:
      return "pending copy";
    case FaultKind::kHostPointer:
      return "host pointer";
  }
  return "?";
}

std::string Fault::describe() const {
  return std::string(name_of(kind)) + " in " + kernel + ", block " + coordinates(block) +
         ", thread " + coordinates(thread) + ": " + text;
}

void log_fault(Fault fault) {
  const std::lock_guard lock(g_mutex);
  if (g_print) std::fprintf(stderr, "emulator: %s\n", fault.describe().c_str());
  if (g_faults.size() < kFaultsKept) g_faults.push_back(std::move(fault));
}

std::vector<Fault> take_faults() {
  const std::lock_guard lock(g_mutex);
  return std::exchange(g_faults, {});
}

void print_faults(bool on) {
  const std::lock_guard lock(g_mutex);
  g_print = on;
}

}  // namespace emulator
