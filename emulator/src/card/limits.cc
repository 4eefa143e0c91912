#include "card/limits.h"

#include <algorithm>
#include <cstring>

namespace emulator {
namespace {

int capability(const CardSettings& card) { return card.compute_major * 10 + card.compute_minor; }

}  // namespace

std::size_t shared_limit_bytes(const CardSettings& card) {
  switch (capability(card)) {
    case 75:
      return 64 << 10;
    case 80:
      return 163 << 10;
    case 86:
    case 89:
    case 120:
      return 99 << 10;
    case 90:
    case 100:
      return 227 << 10;
    default:
      return 48 << 10;
  }
}

std::size_t shared_bytes_of_multiprocessor(const CardSettings& card) {
  return capability(card) == 75 ? 64 << 10 : shared_limit_bytes(card) + (1 << 10);
}

int threads_of_multiprocessor(const CardSettings& card) {
  switch (capability(card)) {
    case 75:
      return 1024;
    case 80:
    case 90:
    case 100:
      return 2048;
    default:
      return 1536;
  }
}

std::size_t blocks_of_multiprocessor(const CardSettings& card, std::size_t threads,
                                     std::size_t shared_bytes) {
  const int arch = capability(card);
  std::size_t blocks = arch == 80 || arch >= 90 ? 32 : arch == 89 ? 24 : 16;
  if (arch == 120) blocks = 24;
  const std::size_t warps = (threads + 31) / 32;
  blocks = std::min(blocks, static_cast<std::size_t>(threads_of_multiprocessor(card)) / 32 / warps);
  const std::size_t reserved = arch >= 80 ? 1 << 10 : 0;  // by the system, for each block
  if (const std::size_t bytes = shared_bytes + reserved; bytes > 0) {
    blocks = std::min(blocks, shared_bytes_of_multiprocessor(card) / bytes);
  }
  return std::max<std::size_t>(1, blocks);
}

std::optional<int> card_attribute(const CardSettings& card, cudaDeviceAttr attribute) {
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      return 1024;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return static_cast<int>(kStaticSharedLimit);
    case cudaDevAttrWarpSize:
      return 32;
    case cudaDevAttrMaxRegistersPerBlock:
      return 65536;
    case cudaDevAttrClockRate:
      return card.clock_khz;
    case cudaDevAttrMultiProcessorCount:
      return card.multiprocessors;
    case cudaDevAttrMemoryClockRate:
      return card.memory_clock_khz;
    case cudaDevAttrGlobalMemoryBusWidth:
      return card.bus_width_bits;
    case cudaDevAttrL2CacheSize:
      return static_cast<int>(card.l2_bytes);
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return threads_of_multiprocessor(card);
    case cudaDevAttrComputeCapabilityMajor:
      return card.compute_major;
    case cudaDevAttrComputeCapabilityMinor:
      return card.compute_minor;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return static_cast<int>(shared_bytes_of_multiprocessor(card));
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return 65536;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return static_cast<int>(shared_limit_bytes(card));
  }
  return std::nullopt;
}

cudaDeviceProp card_properties(const CardSettings& card) {
  cudaDeviceProp facts{};
  std::strncpy(facts.name, card.name.c_str(), sizeof facts.name - 1);
  facts.totalGlobalMem = card.capacity_bytes;
  facts.sharedMemPerBlock = kStaticSharedLimit;
  facts.regsPerBlock = facts.regsPerMultiprocessor = 65536;
  facts.warpSize = 32;
  facts.maxThreadsPerBlock = 1024;
  facts.major = card.compute_major;
  facts.minor = card.compute_minor;
  facts.multiProcessorCount = card.multiprocessors;
  facts.pciBusID = 1;
  facts.memoryBusWidth = card.bus_width_bits;
  facts.l2CacheSize = static_cast<int>(card.l2_bytes);
  facts.maxThreadsPerMultiProcessor = threads_of_multiprocessor(card);
  facts.sharedMemPerMultiprocessor = shared_bytes_of_multiprocessor(card);
  facts.sharedMemPerBlockOptin = shared_limit_bytes(card);
  return facts;
}

cudaError_t launch_error(const LaunchShape& shape, std::size_t dynamic_shared_limit) {
  const auto product = [](dim3 d) { return static_cast<unsigned long long>(d.x) * d.y * d.z; };
  const bool bad_block = product(shape.block) == 0 || product(shape.block) > 1024 ||
                         shape.block.x > 1024 || shape.block.y > 1024 || shape.block.z > 64;
  const bool bad_grid = product(shape.grid) == 0 || shape.grid.x > 0x7FFFFFFFU ||
                        shape.grid.y > 65535 || shape.grid.z > 65535;
  if (bad_block || bad_grid) return cudaErrorInvalidConfiguration;
  return shape.dynamic_shared_bytes > dynamic_shared_limit ? cudaErrorInvalidValue : cudaSuccess;
}

}  // namespace emulator
