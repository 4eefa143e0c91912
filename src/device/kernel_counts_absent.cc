// Builds without the emulator, and under a sanitizer: no kernels that count.
#include "base/error.h"
#include "device/kernel_counts.h"

namespace snug::device {

bool can_count_kernels() { return false; }

CountedCard count_kernels(const std::string&) {
  throw DeviceError(
      "this build has no kernels that count\n"
      "the release build has them: ./scripts/build, then build/release/snug bench --emulated");
}

}  // namespace snug::device
