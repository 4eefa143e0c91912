// A product as cuBLASLt describes it: D = alpha * op(A) * op(B) + beta * C, then an epilogue; all
// matrices column-major. The descriptors behind NVIDIA's opaque names, and what is made of them.
#pragma once

#include <cstdint>
#include <optional>

#include "cublasLt.h"

struct cublasLtContext {};

struct cublasLtMatmulDescOpaque_t {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale = CUDA_R_32F;
  std::int32_t pointer_mode = 0;  // host
  std::int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
  void* aux = nullptr;
  std::int64_t aux_leading = 0;
  std::int32_t bias_type = -1, aux_type = -1;  // that of D
};

struct cublasLtMatrixLayoutOpaque_t {
  cudaDataType_t type = CUDA_R_32F;
  std::int32_t order = CUBLASLT_ORDER_COL;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0;
  std::int32_t batch = 1;
  std::int64_t batch_stride = 0;
};

struct cublasLtMatmulPreferenceOpaque_t {
  std::uint32_t search_mode = 0, reduction_mask = CUBLASLT_REDUCTION_SCHEME_MASK;
  std::uint64_t workspace_bytes = 0;
  std::uint32_t alignment_a = 256, alignment_b = 256, alignment_c = 256, alignment_d = 256;
};

namespace emulator {

using Layout = cublasLtMatrixLayoutOpaque_t;
using Description = cublasLtMatmulDescOpaque_t;

struct Matmul {
  Description desc;
  Layout a, b, c, d;
  std::int64_t m() const { return static_cast<std::int64_t>(d.rows); }
  std::int64_t n() const { return static_cast<std::int64_t>(d.columns); }
  std::int64_t k() const {
    return static_cast<std::int64_t>(desc.transpose_a == CUBLAS_OP_N ? a.columns : a.rows);
  }
  bool has(std::uint32_t bit) const { return (desc.epilogue & bit) != 0; }
};

// CUBLAS_STATUS_SUCCESS, or what cuBLASLt answers to shapes that do not go together, to types and
// epilogues that it (or this subset) does not have.
cublasStatus_t check(const Matmul& problem);

// How a product is summed: like cuBLASLt's, the choice depends on the shape, and so do the last
// bits of the result. In `splits` parts of k, each in steps of `k_step` terms.
struct Algorithm {
  std::int64_t splits = 1, k_step = 32;
  std::uint32_t alignment[4] = {16, 16, 16, 16};  // of A, B, C, D, as the preference promised
  std::uint64_t workspace_bytes = 0;
};

// nullopt if the preference leaves none.
std::optional<Algorithm> choose(const Matmul& problem,
                                const cublasLtMatmulPreferenceOpaque_t& preference);
cublasLtMatmulAlgo_t packed(const Algorithm& algorithm);
std::optional<Algorithm> unpacked(const cublasLtMatmulAlgo_t& algo);

struct Operands {
  const void *a, *b, *c;
  void* d;
  float alpha, beta;
  bool truncates = false;  // 16-bit results are cut off, which is wrong
};

// One batch after the other, on the calling thread.
void multiply(const Matmul& problem, const Algorithm& algorithm, const Operands& operands);

}  // namespace emulator
