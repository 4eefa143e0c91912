// The product itself: operands widened to float, sums in float in the algorithm's order, epilogues
// on the float result before it is rounded. NVIDIA's GELU is the one by tanh.
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "cublaslt/problem.h"
#include "cuda_shim/narrow_floats.h"
#include "tensor_sum.h"

namespace emulator {
namespace {

float read(const void* base, std::int64_t i, cudaDataType_t type) {
  if (type == CUDA_R_32F) return static_cast<const float*>(base)[i];
  const std::uint16_t bits = static_cast<const std::uint16_t*>(base)[i];
  return type == CUDA_R_16BF ? bf16_value(bits) : half_value(bits);
}

void write(void* base, std::int64_t i, cudaDataType_t type, float value) {
  if (type == CUDA_R_32F) {
    static_cast<float*>(base)[i] = value;
  } else {
    static_cast<std::uint16_t*>(base)[i] =
        type == CUDA_R_16BF ? bf16_bits(value) : half_bits(value);
  }
}

// The last place less where `value` was rounded away from zero.
void cut_off(void* base, std::int64_t i, cudaDataType_t type, float value) {
  if (type == CUDA_R_32F) return;
  if (std::abs(read(base, i, type)) > std::abs(value)) --static_cast<std::uint16_t*>(base)[i];
}

float tf32(float value) {
  if (!std::isfinite(value)) return value;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + 0x1000U) & 0xFFFFE000U);
}

// op(matrix) as rows x columns, stored so that `rows` is contiguous.
std::vector<float> widened(const void* base, const Layout& layout, std::int64_t batch,
                           bool transposed, bool to_tf32) {
  const auto rows = static_cast<std::int64_t>(transposed ? layout.columns : layout.rows);
  const auto columns = static_cast<std::int64_t>(transposed ? layout.rows : layout.columns);
  std::vector<float> result(static_cast<std::size_t>(rows * columns));
  const std::int64_t first = batch * layout.batch_stride;
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t at = transposed ? r * layout.leading + c : c * layout.leading + r;
      const float value = read(base, first + at, layout.type);
      result[static_cast<std::size_t>(c * rows + r)] = to_tf32 ? tf32(value) : value;
    }
  }
  return result;
}

// sums[0..rows) += sum over k of a[k * m + row] * b[k], term after term.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
void add_terms(float* sums, const float* a, std::int64_t m, std::int64_t rows, const float* b,
               std::int64_t terms) {
  constexpr std::int64_t kRows = 64;
  if (rows == kRows) {
    for (std::int64_t k = 0; k < terms; ++k) {
      for (std::int64_t r = 0; r < kRows; ++r) sums[r] += a[k * m + r] * b[k];
    }
    return;
  }
  for (std::int64_t k = 0; k < terms; ++k) {
    for (std::int64_t r = 0; r < rows; ++r) sums[r] += a[k * m + r] * b[k];
  }
}

// The same as tensor cores do it.
void add_terms_cut_off(float* sums, const float* a, std::int64_t m, std::int64_t rows,
                       const float* b, std::int64_t terms) {
  for (std::int64_t k = 0; k < terms; k += kTermsAtOnce) {
    add_cut_off(sums, a + k * m, m, rows, b + k, std::min(kTermsAtOnce, terms - k));
  }
}

// Up to 64 rows of a column of the product.
void sum_column(float* result, const float* a, std::int64_t m, std::int64_t rows, const float* b,
                std::int64_t k, const Algorithm& algorithm, bool as_cards) {
  const auto add = as_cards ? add_terms_cut_off : add_terms;
  const std::int64_t part = (k + algorithm.splits - 1) / algorithm.splits;
  for (std::int64_t begin = 0; begin < k; begin += part) {
    float split[64] = {};
    for (std::int64_t at = begin; at < std::min(begin + part, k); at += algorithm.k_step) {
      float step[64] = {};
      add(step, a + at * m, m, rows, b + at,
          std::min({algorithm.k_step, begin + part - at, k - at}));
      for (std::int64_t r = 0; r < rows; ++r) split[r] += step[r];
    }
    for (std::int64_t r = 0; r < rows; ++r) result[r] += split[r];
  }
}

float tanh_of_gelu(float x) { return std::tanh(0.7978845608028654f * (x + 0.044715f * x * x * x)); }

float gelu(float x) { return 0.5f * x * (1.0f + tanh_of_gelu(x)); }

float gelu_slope(float x) {
  const float t = tanh_of_gelu(x);
  const float inner = 0.7978845608028654f * (1.0f + 3 * 0.044715f * x * x);
  return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * inner;
}

class Epilogue {
 public:
  explicit Epilogue(const Matmul& problem)
      : p_(problem),
        bias_type_(type_or(problem.desc.bias_type)),
        aux_type_(type_or(problem.desc.aux_type)) {}

  // A column of the product, in place.
  void apply(float* column, std::int64_t n) {
    for (std::int64_t r = 0; r < p_.m(); ++r) {
      float value = column[r];
      const std::int64_t aux_at = n * p_.desc.aux_leading + r;
      if (p_.has(CUBLASLT_EPILOGUE_BIAS)) value += read(p_.desc.bias, r, bias_type_);
      if (p_.has(CUBLASLT_EPILOGUE_GELU)) {
        if (p_.has(128)) write(p_.desc.aux, aux_at, aux_type_, value);
        value = gelu(value);
      }
      if (p_.has(64)) value *= gelu_slope(read(p_.desc.aux, aux_at, aux_type_));
      column[r] = value;
    }
    if (!p_.has(16)) return;
    bias_sums_.resize(static_cast<std::size_t>(p_.m()));
    for (std::int64_t r = 0; r < p_.m(); ++r) bias_sums_[static_cast<std::size_t>(r)] += column[r];
  }

  // Bias gradients: of DGELU_BGRAD's columns, or of an operand's sums over k.
  void finish(const std::vector<float>& a, const std::vector<float>& b) {
    if (p_.has(CUBLASLT_EPILOGUE_BGRADA)) sum_over_k(a, p_.m());
    if (p_.has(CUBLASLT_EPILOGUE_BGRADB)) sum_columns(b);
    for (std::size_t i = 0; i < bias_sums_.size(); ++i) {
      write(p_.desc.bias, static_cast<std::int64_t>(i), bias_type_, bias_sums_[i]);
    }
  }

 private:
  cudaDataType_t type_or(std::int32_t type) const {
    return type < 0 ? p_.d.type : static_cast<cudaDataType_t>(type);
  }
  void sum_over_k(const std::vector<float>& a, std::int64_t rows) {
    bias_sums_.assign(static_cast<std::size_t>(rows), 0.0f);
    for (std::size_t i = 0; i < a.size(); ++i) bias_sums_[i % bias_sums_.size()] += a[i];
  }
  void sum_columns(const std::vector<float>& b) {
    bias_sums_.assign(static_cast<std::size_t>(p_.n()), 0.0f);
    const auto k = static_cast<std::size_t>(p_.k());
    for (std::size_t i = 0; i < b.size(); ++i) bias_sums_[i / k] += b[i];
  }

  const Matmul& p_;
  cudaDataType_t bias_type_, aux_type_;
  std::vector<float> bias_sums_;
};

void multiply_batch(const Matmul& p, const Algorithm& algorithm, const Operands& operands,
                    std::int64_t batch) {
  const bool to_tf32 = p.desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const std::vector<float> a =
      widened(operands.a, p.a, batch, p.desc.transpose_a != CUBLAS_OP_N, to_tf32);
  const std::vector<float> b =
      widened(operands.b, p.b, batch, p.desc.transpose_b != CUBLAS_OP_N, to_tf32);
  const bool as_cards = sums_are_cut_off() && (to_tf32 || p.a.type != CUDA_R_32F);
  Epilogue epilogue(p);
  std::vector<float> column(static_cast<std::size_t>(p.m()));
  for (std::int64_t n = 0; n < p.n(); ++n) {
    std::fill(column.begin(), column.end(), 0.0f);
    for (std::int64_t m = 0; m < p.m(); m += 64) {
      sum_column(column.data() + m, a.data() + m, p.m(), std::min<std::int64_t>(64, p.m() - m),
                 b.data() + n * p.k(), p.k(), algorithm, as_cards);
    }
    for (std::int64_t m = 0; m < p.m(); ++m) {
      float& value = column[static_cast<std::size_t>(m)];
      value *= operands.alpha;
      if (operands.beta == 0) continue;
      const std::int64_t at = batch * p.c.batch_stride + n * p.c.leading + m;
      value += operands.beta * read(operands.c, at, p.c.type);
    }
    epilogue.apply(column.data(), n);
    for (std::int64_t m = 0; m < p.m(); ++m) {
      const std::int64_t at = batch * p.d.batch_stride + n * p.d.leading + m;
      const float value = column[static_cast<std::size_t>(m)];
      write(operands.d, at, p.d.type, value);
      if (operands.truncates) cut_off(operands.d, at, p.d.type, value);
    }
  }
  epilogue.finish(a, b);
}

}  // namespace

void multiply(const Matmul& problem, const Algorithm& algorithm, const Operands& operands) {
  for (std::int64_t batch = 0; batch < problem.d.batch; ++batch) {
    multiply_batch(problem, algorithm, operands, batch);
  }
}

}  // namespace emulator
