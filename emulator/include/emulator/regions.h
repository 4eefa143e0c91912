// Parts of an allocation, for programs that divide one allocation among many tensors: in the
// checked build an access must then lie in one part, and reports name it. No effect in the plain
// build.
#pragma once

#include <cstddef>
#include <string>

namespace emulator {

void name_region(const void* address, std::size_t bytes, const std::string& name);
void forget_regions();
// The bytes hold nothing that may be read, as after cudaMalloc.
void mark_undefined(const void* address, std::size_t bytes);

}  // namespace emulator
