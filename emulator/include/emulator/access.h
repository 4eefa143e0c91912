// Wide accesses of device code as one access each, whatever the compiler would make of them.
#pragma once

#include <cstddef>
#include <cstring>

namespace emulator {

// Copies `bytes` and tells the checked build of one read (write) of all of them by the running
// lane.
void read_wide(void* value, const void* address, std::size_t bytes);
void write_wide(void* address, const void* value, std::size_t bytes);

template <typename T>
T load(const void* address) {
  T value;
  read_wide(&value, address, sizeof value);
  return value;
}

template <typename T>
void store(void* address, const T& value) {
  write_wide(address, &value, sizeof value);
}

}  // namespace emulator
