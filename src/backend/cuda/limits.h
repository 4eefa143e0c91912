// Sizes that kernels and planning agree on.
#pragma once

#include <cstdint>

namespace snug::cuda {

// Sums over rows are made by this many thread blocks at most, each with its own partial sums, and
// added up in order by a second kernel.
constexpr int kReductionBlocks = 256;
// cuBLASLt is offered this much for every product; cuBLAS's own default is 32 MiB on Hopper and
// 8 MiB before it.
constexpr std::int64_t kGemmWorkspaceBytes = std::int64_t{32} << 20;
constexpr std::int64_t kMaxHead = 128;    // C / head_count that attention's kernels hold
constexpr std::int64_t kMaxWidth = 4096;  // of a norm's rows

}  // namespace snug::cuda
