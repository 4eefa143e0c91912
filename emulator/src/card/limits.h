// What a compute capability grants, from the CUDA programming guide's tables.
#pragma once

#include <optional>

#include "emulator/card.h"
#include "emulator/launch.h"

namespace emulator {

// Shared memory of a block with opt-in.
std::size_t shared_limit_bytes(const CardSettings& card);
std::size_t shared_bytes_of_multiprocessor(const CardSettings& card);
int threads_of_multiprocessor(const CardSettings& card);
// How many blocks of so many threads and so much shared memory a multiprocessor holds; at least 1.
std::size_t blocks_of_multiprocessor(const CardSettings& card, std::size_t threads,
                                     std::size_t shared_bytes);

std::optional<int> card_attribute(const CardSettings& card, cudaDeviceAttr attribute);
cudaDeviceProp card_properties(const CardSettings& card);

// Why a launch of this shape is refused, or cudaSuccess.
cudaError_t launch_error(const LaunchShape& shape, std::size_t dynamic_shared_limit);

}  // namespace emulator
