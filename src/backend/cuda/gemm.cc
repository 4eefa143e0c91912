#include "backend/cuda/gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "backend/cuda/errors.h"
#include "backend/cuda/limits.h"
#include "base/error.h"
#include "plan/plan.h"

namespace snug::cuda {
namespace {

using Result = GemmShape::Result;

// Rows of tensors only where their width allows.
constexpr std::int64_t kTensorAlignment = plan::alignment_in(Space::kDevice);

cudaDataType_t type_of(DType dtype) {
  return dtype == DType::kBF16 ? CUDA_R_16BF : dtype == DType::kF16 ? CUDA_R_16F : CUDA_R_32F;
}

// cuBLASLt is column-major: a row-major matrix (rows, width) is its transpose (width, rows). So
// every product is that of the transposes: C^T = A B with
struct Form {
  cublasOperation_t transpose_a, transpose_b;
  std::int64_t m, n, k;
  std::int64_t a_width, b_width, c_width;  // of the row-major matrices
};
Form form_of(const GemmShape& s) {
  switch (s.result) {
    case Result::kOutput:
      return {CUBLAS_OP_T, CUBLAS_OP_N, s.out, s.rows, s.in, s.in, s.in, s.out};
    case Result::kInputGradient:
      return {CUBLAS_OP_N, CUBLAS_OP_N, s.in, s.rows, s.out, s.in, s.out, s.in};
    default:
      return {CUBLAS_OP_N, CUBLAS_OP_T, s.in, s.out, s.rows, s.in, s.out, s.in};
  }
}

cublasLtMatrixLayout_t layout_of(DType dtype, std::int64_t width, std::int64_t rows) {
  cublasLtMatrixLayout_t layout = nullptr;
  require(cublasLtMatrixLayoutCreate(&layout, type_of(dtype), static_cast<std::uint64_t>(width),
                                     static_cast<std::uint64_t>(rows), width),
          "describing a matrix");
  return layout;
}

template <class Value>
void set(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t attribute,
         const Value& value) {
  require(cublasLtMatmulDescSetAttribute(product, attribute, &value, sizeof value),
          "describing a product");
}
template <class Value>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
         const Value& value) {
  require(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
          "describing a product");
}

// Of any row of a matrix: a product may start at any of them.
std::uint32_t alignment_of(std::int64_t width, DType dtype) {
  return static_cast<std::uint32_t>(std::gcd(kTensorAlignment, width * size_of(dtype)));
}

struct Preference {
  Preference() { require(cublasLtMatmulPreferenceCreate(&get), "describing a product"); }
  ~Preference() { cublasLtMatmulPreferenceDestroy(get); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;

  cublasLtMatmulPreference_t get = nullptr;
};

// cuBLASLt's ways to say that it has none: of some epilogues and types "invalid value".
bool means_none(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
         status == CUBLAS_STATUS_ARCH_MISMATCH;
}

}  // namespace

CublasHandle::CublasHandle() { require(cublasLtCreate(&handle_), "starting cuBLASLt"); }
CublasHandle::~CublasHandle() { cublasLtDestroy(handle_); }

Gemm::Gemm(const CublasHandle& handle, const GemmShape& shape, std::string_view label)
    : handle_(handle), shape_(shape) {
  const bool tf32 = shape.tf32 && shape.dtype == DType::kF32;
  require(cublasLtMatmulDescCreate(
              &product_, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
          label);
  const Form form = form_of(shape);
  set(product_, CUBLASLT_MATMUL_DESC_TRANSA, form.transpose_a);
  set(product_, CUBLASLT_MATMUL_DESC_TRANSB, form.transpose_b);
  describe_layouts();
  if (shape.has_bias) {
    set_epilogue();
    has_epilogue_ = choose(label);
    if (has_epilogue_) return;
    set(product_, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
  }
  if (choose(label)) return;
  throw DeviceError(
      fmt::format("cuBLASLt has no product for '{}': {} rows, {} by {}, {}\n"
                  "another --batch_size, another --dtype or --device=cpu may help; `snug selftest` "
                  "shows which products this card has",
                  label, shape.rows, shape.out, shape.in, name_of(shape.dtype)));
}

Gemm::~Gemm() {
  for (const cublasLtMatrixLayout_t layout : {a_, b_, c_}) {
    if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
  }
  if (product_ != nullptr) cublasLtMatmulDescDestroy(product_);
}

void Gemm::describe_layouts() {
  const GemmShape& s = shape_;
  if (s.result == Result::kWeightGradient) {
    a_ = layout_of(s.dtype, s.in, s.rows);
    b_ = layout_of(s.dtype, s.out, s.rows);
    c_ = layout_of(DType::kF32, s.in, s.out);
    return;
  }
  const Form form = form_of(s);
  a_ = layout_of(s.dtype, s.in, s.out);  // the weight
  b_ = layout_of(s.dtype, form.b_width, s.rows);
  c_ = layout_of(s.result_dtype, form.c_width, s.rows);
}

void Gemm::set_epilogue() {
  set(product_, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  set(product_, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
      static_cast<std::int32_t>(type_of(shape_.result_dtype)));
  // Algorithms are looked for with a bias that is there; which one is told when the product runs.
  set(product_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, reinterpret_cast<const void*>(kTensorAlignment));
}

// False where cuBLASLt knows none.
bool Gemm::choose(std::string_view label) {
  const Form form = form_of(shape_);
  const DType result = shape_.result == Result::kWeightGradient ? DType::kF32 : shape_.result_dtype;
  const Preference preference;
  set(preference.get, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
      static_cast<std::uint64_t>(kGemmWorkspaceBytes));
  set(preference.get, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
      alignment_of(form.a_width, shape_.dtype));
  set(preference.get, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
      alignment_of(form.b_width, shape_.dtype));
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    set(preference.get, attribute, alignment_of(form.c_width, result));
  }
  // Split sums are added up through the workspace in a fixed order, never in place, and in float32:
  // a result is rounded once.
  set(preference.get, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  constexpr int kTried = 8;  // the best first; not every one need be possible on this card
  std::array<cublasLtMatmulHeuristicResult_t, kTried> results = {};
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle_.get(), product_, a_, b_, c_, c_, preference.get, kTried, results.data(), &count);
  const auto found =
      std::find_if(results.begin(), results.begin() + count,
                   [](const auto& candidate) { return candidate.state == CUBLAS_STATUS_SUCCESS; });
  if (means_none(status)) return false;
  require(status, label);
  if (found == results.begin() + count) return false;
  algorithm_ = found->algo;
  return true;
}

void Gemm::run(const Operands& operands, cudaStream_t stream, std::string_view label) const {
  const bool adds = shape_.result == Result::kWeightGradient || adds_to_bias();
  const float one = 1, beta = adds ? 1 : 0;
  if (has_epilogue_) set(product_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias);
  // Of a weight's gradient the right operand, x, is cuBLASLt's A; of the others the weight is.
  require(cublasLtMatmul(handle_.get(), product_, &one, operands.right, a_, operands.left, b_,
                         &beta, operands.result, c_, operands.result, c_, &algorithm_,
                         operands.workspace, static_cast<std::size_t>(kGemmWorkspaceBytes), stream),
          label);
}

}  // namespace snug::cuda
