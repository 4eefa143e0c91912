// The checked build in a program that also has plain kernels.
#pragma once

namespace emulator {

// From now on every launch is watched. Card memory that was taken before is not known to the
// checks: call it before the first.
void watch_kernels();

}  // namespace emulator
