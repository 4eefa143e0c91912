// Products by cuBLASLt, chosen once: when a program is bound, for its shape, alignment and
// workspace. The same product has the same bits whenever it runs: no sum is made by atomics.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/dtype.h"

namespace snug::cuda {

// One of a linear op's three products over `rows` rows, matrices row-major:
//   kOutput:          y (rows, out) = x weight^T [+ bias]
//   kInputGradient:   dx (rows, in) = dy weight
//   kWeightGradient:  dweight (out, in) += dy^T x, in float32
struct GemmShape {
  enum class Result { kOutput, kInputGradient, kWeightGradient };

  Result result;
  std::int64_t rows, out, in;
  DType dtype;         // of x, dy and the weight
  DType result_dtype;  // of y or dx
  bool has_bias;       // a vector of result_dtype
  bool tf32;           // float32 products may round their operands to 10 bits

  bool operator==(const GemmShape&) const = default;
};

class CublasHandle {
 public:
  CublasHandle();
  ~CublasHandle();
  CublasHandle(const CublasHandle&) = delete;
  CublasHandle& operator=(const CublasHandle&) = delete;

  cublasLtHandle_t get() const { return handle_; }

 private:
  cublasLtHandle_t handle_ = nullptr;
};

class Gemm {
 public:
  // Where the card's cuBLASLt knows no product that adds the bias, one without is taken. Throws
  // DeviceError, naming `label`, where it knows neither.
  Gemm(const CublasHandle& handle, const GemmShape& shape, std::string_view label);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  const GemmShape& shape() const { return shape_; }
  // Whether the caller writes the bias into every row of the result first (spread_bias); the
  // product is then added to it and rounded once, as if it had added the bias itself.
  bool adds_to_bias() const { return shape_.has_bias && !has_epilogue_; }

  // `left` is x or dy; `right` the weight, or x for a weight's gradient. `workspace` has
  // kGemmWorkspaceBytes.
  struct Operands {
    const void *left, *right, *bias;
    void *result, *workspace;
  };
  void run(const Operands& operands, cudaStream_t stream, std::string_view label) const;

 private:
  void describe_layouts();
  void set_epilogue();
  bool choose(std::string_view label);

  const CublasHandle& handle_;
  const GemmShape shape_;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_ = {};
  bool has_epilogue_ = false;
};

}  // namespace snug::cuda
