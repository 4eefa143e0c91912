// NVIDIA's cuBLASLt, loaded when a card is first used: it maps half a gigabyte, and a run on the
// processor is planned without it. The functions that we call stand here under their own names and
// pass on.
#include <cublasLt.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include "base/error.h"

namespace snug::cuda {
namespace {

void* library() {
  void* const loaded = ::dlopen(SNUG_CUBLASLT, RTLD_NOW | RTLD_LOCAL);  // again: the same handle
  if (loaded == nullptr) {
    const char* const reason = ::dlerror();
    throw DeviceError(
        fmt::format("cuBLASLt cannot be loaded: {}\n"
                    "a card needs the library that this program was built with",
                    reason != nullptr ? reason : "no reason given"));
  }
  return loaded;
}

template <class Function>
Function* function_named(const char* name) {
  void* const found = ::dlsym(library(), name);
  if (found == nullptr) throw DeviceError(fmt::format("{} has no {}", SNUG_CUBLASLT, name));
  return reinterpret_cast<Function*>(found);
}

}  // namespace
}  // namespace snug::cuda

#define SNUG_PASS_ON(function, ...)                                                        \
  static auto* const loaded = snug::cuda::function_named<decltype(::function)>(#function); \
  return loaded(__VA_ARGS__)

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { SNUG_PASS_ON(cublasLtCreate, handle); }

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { SNUG_PASS_ON(cublasLtDestroy, handle); }

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                              const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                              const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  SNUG_PASS_ON(cublasLtMatmul, handle, product, alpha, a, a_layout, b, b_layout, beta, c, c_layout,
               d, d_layout, algorithm, workspace, workspace_bytes, stream);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  SNUG_PASS_ON(cublasLtMatmulAlgoGetHeuristic, handle, product, a, b, c, d, preference, requested,
               results, found);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t type,
                                        cudaDataType_t scale) {
  SNUG_PASS_ON(cublasLtMatmulDescCreate, product, type, scale);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  SNUG_PASS_ON(cublasLtMatmulDescDestroy, product);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  SNUG_PASS_ON(cublasLtMatmulDescSetAttribute, product, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  SNUG_PASS_ON(cublasLtMatmulPreferenceCreate, preference);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  SNUG_PASS_ON(cublasLtMatmulPreferenceDestroy, preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  SNUG_PASS_ON(cublasLtMatmulPreferenceSetAttribute, preference, attribute, value, bytes);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t distance) {
  SNUG_PASS_ON(cublasLtMatrixLayoutCreate, layout, type, rows, columns, distance);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  SNUG_PASS_ON(cublasLtMatrixLayoutDestroy, layout);
}
