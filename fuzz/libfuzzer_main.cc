// libFuzzer's entry into one target, which the build names.
#include <cstddef>
#include <cstdint>

#include "fuzz_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  snug::SNUG_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
