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

// Scratch of kernels, in numbers, not bytes.
constexpr std::int64_t bias_backward_floats(std::int64_t width) { return kReductionBlocks * width; }
constexpr std::int64_t norm_backward_floats(std::int64_t width) {
  return bias_backward_floats(2 * width);  // of gamma and of beta
}
// dout * out, summed over each head and row.
constexpr std::int64_t attention_backward_floats(std::int64_t rows, std::int64_t heads) {
  return rows * heads;
}
constexpr std::int64_t decode_floats(std::int64_t heads, std::int64_t window) {
  return heads * window;
}
// The slot of every position, and two lists of positions to sort between.
constexpr std::int64_t embed_backward_ints(std::int64_t rows) { return 3 * rows; }
constexpr std::int64_t kGradientNormDoubles = kReductionBlocks;

}  // namespace snug::cuda
