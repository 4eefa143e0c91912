#include "backend/cuda/peak_flops.h"

#include <algorithm>

#include "backend/cuda/errors.h"
#include "backend/cuda/gemm.h"
#include "backend/cuda/limits.h"

namespace snug::cuda {
namespace {

constexpr std::int64_t kSmallest = 256, kLargest = 8192;
constexpr double kLongEnough = 0.02;

// Seconds of one product of n by n matrices, after one that warms up.
double seconds_of(const CublasHandle& handle, const CudaArena& arena, std::int64_t n, DType dtype,
                  bool tf32, cudaStream_t stream) {
  const Gemm gemm(handle,
                  {.result = GemmShape::Result::kOutput,
                   .rows = n,
                   .out = n,
                   .in = n,
                   .dtype = dtype,
                   .result_dtype = dtype,
                   .has_bias = false,
                   .tf32 = tf32},
                  "measuring");
  const std::int64_t bytes = n * n * size_of(dtype);
  std::byte* matrices = arena.data() + kGemmWorkspaceBytes;
  const Gemm::Operands operands{matrices, matrices + bytes, nullptr, matrices + 2 * bytes,
                                arena.data()};
  require(cudaMemsetAsync(matrices, 0, static_cast<std::size_t>(2 * bytes), stream), "measuring");
  Event begin(true), end(true);
  gemm.run(operands, stream, "measuring");
  begin.record(stream);
  gemm.run(operands, stream, "measuring");
  end.record(stream);
  require(end.wait(), "measuring");
  return end.seconds_since(begin);
}

}  // namespace

double measure_peak_flops(const CudaArena& arena, const program::Program& program, bool tf32,
                          cudaStream_t stream) {
  const DType dtype = program.compute_weights.empty()
                          ? DType::kF32
                          : program.tensor(program.compute_weights.front()).dtype;
  const CublasHandle handle;
  double best = 0;
  for (std::int64_t n = kSmallest; n <= kLargest; n *= 2) {
    if (kGemmWorkspaceBytes + 3 * n * n * size_of(dtype) > arena.byte_count()) break;
    const double seconds = seconds_of(handle, arena, n, dtype, tf32, stream);
    if (seconds <= 0) break;
    const auto size = static_cast<double>(n);
    best = std::max(best, 2 * size * size * size / seconds);
    if (seconds > kLongEnough) break;
  }
  return best;
}

}  // namespace snug::cuda
