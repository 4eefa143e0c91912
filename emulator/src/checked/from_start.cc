// In a program of instrumented kernels only: they are never unwatched.
#include "emulator/watch.h"

namespace emulator {
namespace {

[[maybe_unused]] const bool g_watching = [] {
  watch_kernels();
  return true;
}();

}  // namespace
}  // namespace emulator
