// Theoretical occupancy by NVIDIA's own formula (cuda_occupancy.h, from the toolkit). Reads lines
// "arch registers static_shared threads name", writes them with the resident warps in percent.
#include <cuda_occupancy.h>

#include <cstdio>
#include <map>

namespace {

struct Limits {
  int threads, shared, shared_opt_in;
};

// Of the programming guide's table of compute capabilities.
const std::map<int, Limits> kLimits = {
    {75, {1024, 65536, 65536}},    {80, {2048, 167936, 166912}}, {86, {1536, 102400, 101376}},
    {89, {1536, 102400, 101376}},  {90, {2048, 233472, 232448}}, {120, {1536, 102400, 101376}},
};

cudaOccDeviceProp device(int arch) {
  const Limits& limits = kLimits.at(arch);
  cudaOccDeviceProp facts;
  facts.computeMajor = arch / 10;
  facts.computeMinor = arch % 10;
  facts.maxThreadsPerBlock = 1024;
  facts.maxThreadsPerMultiprocessor = limits.threads;
  facts.regsPerBlock = facts.regsPerMultiprocessor = 65536;
  facts.warpSize = 32;
  facts.sharedMemPerBlock = 49152;
  facts.sharedMemPerMultiprocessor = static_cast<std::size_t>(limits.shared);
  facts.sharedMemPerBlockOptin = static_cast<std::size_t>(limits.shared_opt_in);
  facts.reservedSharedMemPerBlock = arch >= 80 ? 1024 : 0;
  facts.numSms = 1;
  return facts;
}

}  // namespace

int main() {
  int arch, registers, shared, threads;
  char name[1024];
  while (std::scanf("%d %d %d %d %1023s", &arch, &registers, &shared, &threads, name) == 5) {
    const cudaOccDeviceProp facts = device(arch);
    cudaOccFuncAttributes kernel;
    kernel.maxThreadsPerBlock = 1024;
    kernel.numRegs = registers;
    kernel.sharedSizeBytes = static_cast<std::size_t>(shared);
    kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    kernel.maxDynamicSharedSizeBytes = facts.sharedMemPerBlockOptin;
    const cudaOccDeviceState state;
    cudaOccResult result;
    const auto error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &facts, &kernel, &state,
                                                               threads, 0);
    if (error != CUDA_OCC_SUCCESS) return 1;
    std::printf("%d %d %d %d %d %s\n", arch, registers, shared, threads,
                100 * result.activeBlocksPerMultiprocessor * threads /
                    facts.maxThreadsPerMultiprocessor,
                name);
  }
}
