#include "cublaslt/problem.h"

#include <algorithm>

namespace emulator {
namespace {

constexpr std::uint64_t kMark = 0x656D756C61746F72;  // of an algorithm that choose() made

bool is_16_bit(cudaDataType_t type) { return type == CUDA_R_16F || type == CUDA_R_16BF; }

bool types_supported(const Matmul& p) {
  const bool same_inputs = p.a.type == p.b.type && (is_16_bit(p.a.type) || p.a.type == CUDA_R_32F);
  const bool same_outputs = p.c.type == p.d.type;
  const bool narrow_or_float = p.d.type == p.a.type || p.d.type == CUDA_R_32F;
  const bool tf32_of_float = p.desc.compute != CUBLAS_COMPUTE_32F_FAST_TF32 || !is_16_bit(p.a.type);
  return same_inputs && same_outputs && narrow_or_float && tf32_of_float &&
         p.desc.scale == CUDA_R_32F;
}

bool epilogue_supported(const Matmul& p) {
  switch (p.desc.epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
    case CUBLASLT_EPILOGUE_BGRADA:
    case CUBLASLT_EPILOGUE_BGRADB:
      return true;
    // NVIDIA asks for a leading dimension that is a multiple of 8.
    case CUBLASLT_EPILOGUE_GELU_AUX:
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DGELU:
    case CUBLASLT_EPILOGUE_DGELU_BGRAD:
      return p.desc.aux && p.desc.aux_leading >= p.m() && p.desc.aux_leading % 8 == 0;
    default:
      return false;
  }
}

bool is_column_major(const Layout& layout) {
  return layout.order == CUBLASLT_ORDER_COL &&
         layout.leading >= static_cast<std::int64_t>(layout.rows);
}

}  // namespace

cublasStatus_t check(const Matmul& p) {
  const bool plain_a = p.desc.transpose_a == CUBLAS_OP_N,
             plain_b = p.desc.transpose_b == CUBLAS_OP_N;
  const std::uint64_t m = plain_a ? p.a.rows : p.a.columns, k = plain_a ? p.a.columns : p.a.rows;
  const std::uint64_t k_of_b = plain_b ? p.b.rows : p.b.columns;
  const std::uint64_t n = plain_b ? p.b.columns : p.b.rows;
  const bool shapes = m == p.d.rows && n == p.d.columns && k == k_of_b && p.c.rows == m &&
                      p.c.columns == n && m * n * k > 0;
  const bool batches = p.a.batch == p.d.batch && p.b.batch == p.d.batch && p.c.batch == p.d.batch;
  if (!shapes || !batches) return CUBLAS_STATUS_INVALID_VALUE;
  for (const Layout* layout : {&p.a, &p.b, &p.c, &p.d}) {
    if (!is_column_major(*layout)) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (p.desc.pointer_mode != 0 || !types_supported(p)) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool wants_bias = p.has(4) || p.has(16) || p.has(256) || p.has(512);
  if (wants_bias && !p.desc.bias) return CUBLAS_STATUS_INVALID_VALUE;
  return epilogue_supported(p) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

std::optional<Algorithm> choose(const Matmul& p,
                                const cublasLtMatmulPreferenceOpaque_t& preference) {
  if (check(p) != CUBLAS_STATUS_SUCCESS) return std::nullopt;
  const auto tiles = [](std::int64_t x) { return (x + 127) / 128; };
  Algorithm algorithm{.alignment = {preference.alignment_a, preference.alignment_b,
                                    preference.alignment_c, preference.alignment_d}};
  // Tall products take a smaller step, thin ones are split: as on a card, by shape only.
  algorithm.k_step = tiles(p.n()) >= 4 ? 64 : tiles(p.n()) >= 2 ? 32 : 16;
  const std::int64_t tile_count = tiles(p.m()) * tiles(p.n()) * p.d.batch;
  const bool may_split =
      (preference.reduction_mask & CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) != 0 &&
      p.desc.epilogue == CUBLASLT_EPILOGUE_DEFAULT;
  while (may_split && algorithm.splits < 8 && tile_count * algorithm.splits < 16 &&
         p.k() / (2 * algorithm.splits) >= 64) {
    const std::int64_t doubled = 2 * algorithm.splits;
    const auto bytes = static_cast<std::uint64_t>(doubled * p.m() * p.n() * p.d.batch) * 4;
    if (bytes > preference.workspace_bytes) break;
    algorithm.splits = doubled;
    algorithm.workspace_bytes = bytes;
  }
  return algorithm;
}

cublasLtMatmulAlgo_t packed(const Algorithm& a) {
  const auto pair = [](std::uint32_t x, std::uint32_t y) {
    return static_cast<std::uint64_t>(y) << 32 | x;
  };
  return {{kMark, static_cast<std::uint64_t>(a.splits), static_cast<std::uint64_t>(a.k_step),
           pair(a.alignment[0], a.alignment[1]), pair(a.alignment[2], a.alignment[3]),
           a.workspace_bytes, 0, 0}};
}

std::optional<Algorithm> unpacked(const cublasLtMatmulAlgo_t& algo) {
  if (algo.data[0] != kMark) return std::nullopt;
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  return Algorithm{
      static_cast<std::int64_t>(algo.data[1]),
      static_cast<std::int64_t>(algo.data[2]),
      {low(algo.data[3]), low(algo.data[3] >> 32), low(algo.data[4]), low(algo.data[4] >> 32)},
      algo.data[5]};
}

}  // namespace emulator
