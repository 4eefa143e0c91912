// cuBLASLt's functions on the fake card.
#include <cstring>

#include "card/card_state.h"
#include "cublaslt/problem.h"
#include "watcher.h"

using emulator::CardState;
using emulator::g_watcher;
using emulator::Layout;

namespace {

template <typename T>
cublasStatus_t set(T& member, const void* value, std::size_t bytes) {
  if (!value || bytes != sizeof member) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&member, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

bool is_known(const emulator::Matmul& problem) {
  CardState& card = emulator::card_state();
  const std::lock_guard lock(card.mutex);
  using emulator::KnownProducts;
  return card.known_products == KnownProducts::kAll ||
         (card.known_products == KnownProducts::kWithoutEpilogue &&
          problem.desc.epilogue == CUBLASLT_EPILOGUE_DEFAULT);
}

std::size_t element_bytes(cudaDataType_t type) { return type == CUDA_R_32F ? 4 : 2; }

// From the first to the last element of all batches.
std::size_t extent_bytes(const Layout& layout) {
  const auto elements = static_cast<std::int64_t>(layout.columns - 1) * layout.leading +
                        static_cast<std::int64_t>(layout.rows) +
                        (layout.batch - 1) * layout.batch_stride;
  return static_cast<std::size_t>(elements) * element_bytes(layout.type);
}

bool aligned(const void* address, std::uint32_t bytes) {
  return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
}

bool operands_fit(const CardState& card, const emulator::Matmul& p,
                  const emulator::Operands& operands, const emulator::Algorithm& algorithm) {
  const struct {
    const void* address;
    const Layout& layout;
    std::uint32_t alignment;
  } all[] = {{operands.a, p.a, algorithm.alignment[0]},
             {operands.b, p.b, algorithm.alignment[1]},
             {operands.beta == 0 ? operands.d : operands.c, p.c, algorithm.alignment[2]},
             {operands.d, p.d, algorithm.alignment[3]}};
  for (const auto& [address, layout, alignment] : all) {
    if (!aligned(address, alignment)) return false;
    if (!card.memory.on_card(address, extent_bytes(layout))) return false;
  }
  return true;
}

void run(const emulator::Matmul& p, const emulator::Algorithm& algorithm,
         const emulator::Operands& operands) {
  emulator::multiply(p, algorithm, operands);
  if (!g_watcher) return;
  for (std::int64_t batch = 0; batch < p.d.batch; ++batch) {
    for (std::int64_t n = 0; n < p.n(); ++n) {
      char* column =
          static_cast<char*>(operands.d) + (batch * p.d.batch_stride + n * p.d.leading) *
                                               static_cast<std::int64_t>(element_bytes(p.d.type));
      g_watcher->card_memory_written(column, p.d.rows * element_bytes(p.d.type));
    }
  }
  const std::size_t bias_bytes = element_bytes(
      p.desc.bias_type < 0 ? p.d.type : static_cast<cudaDataType_t>(p.desc.bias_type));
  if (p.has(16) || p.has(256)) g_watcher->card_memory_written(p.desc.bias, p.d.rows * bias_bytes);
  if (p.has(512)) g_watcher->card_memory_written(p.desc.bias, p.d.columns * bias_bytes);
  if (p.has(32) && p.has(128)) {
    g_watcher->card_memory_written(
        p.desc.aux, static_cast<std::size_t>(p.desc.aux_leading * p.n()) * element_bytes(p.d.type));
  }
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (emulator::with_card([](CardState&) { return cudaSuccess; }) != cudaSuccess) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

std::size_t cublasLtGetVersion() { return 130000; }

const char* cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "CUBLAS_STATUS_???";
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  *desc = new cublasLtMatmulDescOpaque_t{.compute = compute, .scale = scale};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete desc;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
      return set(d->compute, value, bytes);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
      return set(d->scale, value, bytes);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return set(d->pointer_mode, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return set(d->transpose_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return set(d->transpose_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return set(d->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return set(d->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return set(d->aux, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return set(d->aux_leading, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE:
      return set(d->aux_type, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return set(d->bias_type, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t leading) {
  *layout = new Layout{.type = type, .rows = rows, .columns = columns, .leading = leading};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t l,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, std::size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
      return set(l->type, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return set(l->order, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return set(l->rows, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return set(l->columns, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return set(l->leading, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return set(l->batch, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return set(l->batch_stride, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new cublasLtMatmulPreferenceOpaque_t;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_SEARCH_MODE:
      return set(p->search_mode, value, bytes);
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return set(p->workspace_bytes, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return set(p->reduction_mask, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return set(p->alignment_a, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return set(p->alignment_b, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return set(p->alignment_c, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return set(p->alignment_d, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  *found = 0;
  const emulator::Matmul problem{*desc, *a, *b, *c, *d};
  const cublasStatus_t status = emulator::check(problem);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const auto algorithm = emulator::choose(problem, *preference);
  if (!algorithm || wanted < 1) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!is_known(problem)) return emulator::card_state().products_refusal;
  results[0] = {
      emulator::packed(*algorithm), algorithm->workspace_bytes, CUBLAS_STATUS_SUCCESS, 1.0f, {}};
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo,
                              void* workspace, std::size_t workspace_bytes, cudaStream_t stream) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const emulator::Matmul problem{*desc, *a_layout, *b_layout, *c_layout, *d_layout};
  if (const cublasStatus_t status = emulator::check(problem)) return status;
  cublasLtMatmulPreferenceOpaque_t own;
  own.workspace_bytes = workspace_bytes;
  own.alignment_a = own.alignment_b = own.alignment_c = own.alignment_d = 16;
  const auto algorithm = algo ? emulator::unpacked(*algo) : emulator::choose(problem, own);
  if (!algorithm) return CUBLAS_STATUS_INVALID_VALUE;
  const emulator::Operands operands{.a = a,
                                    .b = b,
                                    .c = c,
                                    .d = d,
                                    .alpha = *static_cast<const float*>(alpha),
                                    .beta = *static_cast<const float*>(beta)};
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  const cudaError_t error = emulator::with_card([&](CardState& card) {
    const bool has_workspace =
        algorithm->workspace_bytes == 0 ||
        (workspace_bytes >= algorithm->workspace_bytes && aligned(workspace, 256) &&
         card.memory.on_card(workspace, algorithm->workspace_bytes));
    if (CardState::is_due(card.matmuls_to_failure)) {
      status = card.matmul_failure;
      return cudaSuccess;
    }
    if (!has_workspace || !operands_fit(card, problem, operands, *algorithm)) {
      status = CUBLAS_STATUS_INVALID_VALUE;
      return cudaSuccess;
    }
    ++card.memory.use().matmuls;
    emulator::Operands given = operands;
    if (CardState::is_due(card.matmuls_to_wrong)) given.alpha *= 1.01f;
    given.truncates = card.matmuls_truncate;
    return emulator::enqueue_work(card, stream, [problem, algorithm, given, workspace] {
      run(problem, *algorithm, given);
      // Whatever lay in the workspace is gone.
      if (algorithm->workspace_bytes > 0) std::memset(workspace, 0xFF, algorithm->workspace_bytes);
    });
  });
  return error != cudaSuccess ? CUBLAS_STATUS_EXECUTION_FAILED : status;
}
}
