// The fake cuBLASLt against a product in double, over transposes, types and epilogues.
#include <cublasLt.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "cuda_shim/narrow_floats.h"
#include "emulator/card.h"

namespace {

float rounded(float x, cudaDataType_t type) {
  if (type == CUDA_R_16BF) return emulator::bf16_value(emulator::bf16_bits(x));
  if (type == CUDA_R_16F) return emulator::half_value(emulator::half_bits(x));
  return x;
}

// A matrix on the card, column-major without gaps, and its values.
struct Matrix {
  cudaDataType_t type;
  std::uint64_t rows, columns;
  std::vector<float> values;
  void* card = nullptr;
  cublasLtMatrixLayout_t layout = nullptr;

  Matrix(cudaDataType_t t, std::uint64_t r, std::uint64_t c, unsigned seed)
      : type(t), rows(r), columns(c), values(r * c) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (float& x : values) x = rounded(normal(random), type);
    cudaMalloc(&card, values.size() * 4);
    upload();
    cublasLtMatrixLayoutCreate(&layout, type, rows, columns, static_cast<std::int64_t>(rows));
  }
  ~Matrix() { cublasLtMatrixLayoutDestroy(layout); }
  void upload() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (type == CUDA_R_32F) static_cast<float*>(card)[i] = values[i];
      if (type == CUDA_R_16BF)
        static_cast<std::uint16_t*>(card)[i] = emulator::bf16_bits(values[i]);
      if (type == CUDA_R_16F) static_cast<std::uint16_t*>(card)[i] = emulator::half_bits(values[i]);
    }
  }
  float on_card(std::size_t i) const {
    if (type == CUDA_R_32F) return static_cast<const float*>(card)[i];
    const std::uint16_t bits = static_cast<const std::uint16_t*>(card)[i];
    return type == CUDA_R_16BF ? emulator::bf16_value(bits) : emulator::half_value(bits);
  }
  double at(std::uint64_t r, std::uint64_t c, bool transposed) const {
    return transposed ? values[r * rows + c] : values[c * rows + r];
  }
};

class CublasLt : public testing::Test {
 protected:
  CublasLt() {
    emulator::insert_card(emulator::card_by_name("rtx3060"));
    cublasLtCreate(&handle_);
    cublasLtMatmulDescCreate(&desc_, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatmulPreferenceCreate(&preference_);
    const std::uint64_t bytes = kWorkspaceBytes;
    cublasLtMatmulPreferenceSetAttribute(preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                         &bytes, sizeof bytes);
    cudaMalloc(&workspace_, kWorkspaceBytes);
  }
  ~CublasLt() override {
    cublasLtMatmulPreferenceDestroy(preference_);
    cublasLtMatmulDescDestroy(desc_);
    cublasLtDestroy(handle_);
    emulator::insert_card(emulator::card_by_name("rtx3060"));
  }

  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) {
    ASSERT_EQ(cublasLtMatmulDescSetAttribute(desc_, attribute, &value, sizeof value),
              CUBLAS_STATUS_SUCCESS);
  }

  cublasStatus_t find(const Matrix& a, const Matrix& b, const Matrix& d) {
    int found = 0;
    return cublasLtMatmulAlgoGetHeuristic(handle_, desc_, a.layout, b.layout, d.layout, d.layout,
                                          preference_, 1, &result_, &found);
  }

  cublasStatus_t run(const Matrix& a, const Matrix& b, const Matrix& d, float beta = 0,
                     std::size_t workspace_bytes = kWorkspaceBytes) {
    if (const cublasStatus_t status = find(a, b, d)) return status;
    const float alpha = 1;
    return cublasLtMatmul(handle_, desc_, &alpha, a.card, a.layout, b.card, b.layout, &beta, d.card,
                          d.layout, d.card, d.layout, &result_.algo, workspace_, workspace_bytes,
                          nullptr);
  }

  static constexpr std::uint64_t kWorkspaceBytes = 4 << 20;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;
  cublasLtMatmulHeuristicResult_t result_ = {};
  void* workspace_ = nullptr;
};

TEST_F(CublasLt, ProductsOfAllTransposesAndTypes) {
  const std::uint64_t m = 70, n = 37, k = 130;
  for (const cudaDataType_t type : {CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF}) {
    for (const int which : {0, 1, 2, 3}) {
      const bool ta = which & 1, tb = which & 2;
      set(CUBLASLT_MATMUL_DESC_TRANSA, ta ? CUBLAS_OP_T : CUBLAS_OP_N);
      set(CUBLASLT_MATMUL_DESC_TRANSB, tb ? CUBLAS_OP_T : CUBLAS_OP_N);
      const Matrix a(type, ta ? k : m, ta ? m : k, 1), b(type, tb ? n : k, tb ? k : n, 2);
      const Matrix d(CUDA_R_32F, m, n, 3);
      ASSERT_EQ(run(a, b, d, 1.0f), CUBLAS_STATUS_SUCCESS);
      for (std::uint64_t i = 0; i < m * n; ++i) {
        double sum = d.values[i];
        for (std::uint64_t x = 0; x < k; ++x) sum += a.at(i % m, x, ta) * b.at(x, i / m, tb);
        ASSERT_NEAR(d.on_card(i), sum, 1e-4);
      }
    }
  }
}

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

TEST_F(CublasLt, GeluAuxBiasAndItsGradient) {
  const std::uint64_t m = 32, n = 9, k = 16;
  const cudaDataType_t type = CUDA_R_32F;
  const Matrix a(type, m, k, 1), b(type, k, n, 2), d(type, m, n, 3), aux(type, m, n, 4);
  const Matrix bias(type, m, 1, 5), bias_gradient(type, m, 1, 6);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.card);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux.card);
  EXPECT_EQ(run(a, b, d), CUBLAS_STATUS_NOT_SUPPORTED) << "aux needs its leading dimension";
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{32});
  ASSERT_EQ(run(a, b, d), CUBLAS_STATUS_SUCCESS);
  std::vector<double> products(m * n);
  for (std::uint64_t i = 0; i < m * n; ++i) {
    for (std::uint64_t x = 0; x < k; ++x)
      products[i] += a.at(i % m, x, false) * b.at(x, i / m, false);
    const double before = products[i] + bias.values[i % m];
    ASSERT_NEAR(aux.on_card(i), before, 1e-5);
    ASSERT_NEAR(d.on_card(i), gelu(before), 1e-5);
  }
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DGELU_BGRAD);
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias_gradient.card);
  ASSERT_EQ(run(a, b, d), CUBLAS_STATUS_SUCCESS);
  std::vector<double> sums(m);
  for (std::uint64_t i = 0; i < m * n; ++i) {
    const double x = aux.on_card(i), h = 1e-5;
    const double expected = products[i] * (gelu(x + h) - gelu(x - h)) / (2 * h);
    ASSERT_NEAR(d.on_card(i), expected, 1e-4);
    sums[i % m] += expected;
  }
  for (std::uint64_t i = 0; i < m; ++i) ASSERT_NEAR(bias_gradient.on_card(i), sums[i], 1e-3);
}

TEST_F(CublasLt, BiasGradientsOfOperands) {
  const std::uint64_t m = 24, n = 10, k = 50;
  const Matrix a(CUDA_R_16BF, m, k, 1), b(CUDA_R_16BF, k, n, 2), d(CUDA_R_32F, m, n, 3);
  const Matrix of_a(CUDA_R_32F, m, 1, 4), of_b(CUDA_R_32F, n, 1, 5);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BGRADA);
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, of_a.card);
  ASSERT_EQ(run(a, b, d), CUBLAS_STATUS_SUCCESS);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BGRADB);
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, of_b.card);
  ASSERT_EQ(run(a, b, d), CUBLAS_STATUS_SUCCESS);
  for (std::uint64_t r = 0; r < m; ++r) {
    double sum = 0;
    for (std::uint64_t x = 0; x < k; ++x) sum += a.at(r, x, false);
    EXPECT_NEAR(of_a.on_card(r), sum, 1e-4);
  }
  for (std::uint64_t c = 0; c < n; ++c) {
    double sum = 0;
    for (std::uint64_t x = 0; x < k; ++x) sum += b.at(x, c, false);
    EXPECT_NEAR(of_b.on_card(c), sum, 1e-4);
  }
}

// A thin product is split over k, which its wide sister is not: the same column differs in its last
// bits, as it does on a card.
TEST_F(CublasLt, TheShapeDecidesHowSumsAreSplit) {
  const std::uint64_t m = 64, k = 1024;
  const Matrix a(CUDA_R_16BF, m, k, 1), thin_b(CUDA_R_16BF, k, 8, 2), thin(CUDA_R_32F, m, 8, 3);
  Matrix wide_b(CUDA_R_16BF, k, 4096, 2);
  const Matrix wide(CUDA_R_32F, m, 4096, 3);
  std::copy(thin_b.values.begin(), thin_b.values.end(), wide_b.values.begin());
  wide_b.upload();
  ASSERT_EQ(run(a, thin_b, thin), CUBLAS_STATUS_SUCCESS);
  EXPECT_GT(result_.workspaceSize, 0u);
  ASSERT_EQ(run(a, wide_b, wide), CUBLAS_STATUS_SUCCESS);
  int different = 0;
  for (std::uint64_t i = 0; i < m * 8; ++i) {
    different += thin.on_card(i) != wide.on_card(i);
    ASSERT_NEAR(thin.on_card(i), wide.on_card(i), 1e-3);
  }
  EXPECT_GT(different, 0);
}

TEST_F(CublasLt, RefusesWhatDoesNotGoTogether) {
  const Matrix a(CUDA_R_16BF, 64, 1024, 1), b(CUDA_R_16BF, 1024, 8, 2), d(CUDA_R_32F, 64, 8, 3);
  EXPECT_EQ(run(a, b, d, 0, 16), CUBLAS_STATUS_INVALID_VALUE) << "the workspace is too small";
  const Matrix other(CUDA_R_16F, 1024, 8, 2), shorter(CUDA_R_16BF, 1000, 8, 2);
  EXPECT_EQ(run(a, other, d), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(run(a, shorter, d), CUBLAS_STATUS_INVALID_VALUE);
  Matrix shifted(CUDA_R_16BF, 1024, 8, 2);
  cudaMalloc(&shifted.card, 1024 * 8 * 2 + 32);
  shifted.card = static_cast<char*>(shifted.card) + 32;
  EXPECT_EQ(run(a, shifted, d), CUBLAS_STATUS_INVALID_VALUE) << "256 bytes were promised";
  const std::uint32_t less = 16;
  cublasLtMatmulPreferenceSetAttribute(preference_, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                                       &less, sizeof less);
  EXPECT_EQ(run(a, shifted, d), CUBLAS_STATUS_SUCCESS);
}

TEST_F(CublasLt, KnowsOnlyTheProductsItIsToldTo) {
  const Matrix a(CUDA_R_16BF, 64, 32, 1), b(CUDA_R_16BF, 32, 8, 2), d(CUDA_R_16BF, 64, 8, 3);
  const Matrix bias(CUDA_R_16BF, 64, 1, 4);
  emulator::set_known_products(emulator::KnownProducts::kWithoutEpilogue);
  EXPECT_EQ(run(a, b, d), CUBLAS_STATUS_SUCCESS);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(bias.card));
  EXPECT_EQ(run(a, b, d), CUBLAS_STATUS_NOT_SUPPORTED);
  emulator::set_known_products(emulator::KnownProducts::kAll);
  EXPECT_EQ(run(a, b, d), CUBLAS_STATUS_SUCCESS);
  emulator::set_known_products(emulator::KnownProducts::kNone);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
  EXPECT_EQ(run(a, b, d), CUBLAS_STATUS_NOT_SUPPORTED);
  emulator::insert_card(emulator::card_by_name("rtx3060"));
  EXPECT_EQ(find(a, b, d), CUBLAS_STATUS_SUCCESS) << "another card knows them";
}

TEST_F(CublasLt, RefusesTheOthersAsItIsToldTo) {
  const Matrix a(CUDA_R_16BF, 64, 32, 1), b(CUDA_R_16BF, 32, 8, 2), d(CUDA_R_16BF, 64, 8, 3);
  emulator::set_known_products(emulator::KnownProducts::kNone, CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(run(a, b, d), CUBLAS_STATUS_INVALID_VALUE);
  emulator::set_known_products(emulator::KnownProducts::kNone);
  EXPECT_EQ(run(a, b, d), CUBLAS_STATUS_NOT_SUPPORTED);
}

// 1 and seven terms of 1.5 units of the bit below a float's last: each is cut off to one, and the
// sum, 3.5 of a float's units, to 3. Term after term each is rounded up.
TEST_F(CublasLt, CutsOffSumsWhereThatIsOrdered) {
  constexpr float kUnit = 0x1p-23f;
  Matrix a(CUDA_R_16BF, 1, 8, 1), b(CUDA_R_16BF, 8, 1, 2);
  const Matrix d(CUDA_R_32F, 1, 1, 3);
  std::fill(a.values.begin(), a.values.end(), 1.5f * 0x1p-12f);
  std::fill(b.values.begin(), b.values.end(), 0x1p-12f);
  a.values[0] = b.values[0] = 1;
  a.upload();
  b.upload();
  ASSERT_EQ(run(a, b, d), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.on_card(0), 1 + 7 * kUnit);
  emulator::cut_off_sums();
  ASSERT_EQ(run(a, b, d), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.on_card(0), 1 + 3 * kUnit);
  a.values[0] = -1;  // towards zero, whatever the sign
  for (std::size_t i = 1; i < 8; ++i) a.values[i] *= -1;
  a.upload();
  ASSERT_EQ(run(a, b, d), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.on_card(0), -1 - 3 * kUnit);
}

TEST_F(CublasLt, FailsOnOrderWithACleanLastError) {
  const Matrix a(CUDA_R_32F, 64, 32, 1), b(CUDA_R_32F, 32, 8, 2), d(CUDA_R_32F, 64, 8, 3);
  emulator::fail_matmul_after(1, CUBLAS_STATUS_ALLOC_FAILED);
  EXPECT_EQ(run(a, b, d), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(run(a, b, d), CUBLAS_STATUS_ALLOC_FAILED);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(run(a, b, d), CUBLAS_STATUS_SUCCESS);
}

TEST(NarrowFloats, AreRoundedToNearestEven) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = emulator::half_value(half);
    if (!std::isnan(value)) {
      ASSERT_EQ(emulator::half_bits(value), half);
      if ((half & 0x7FFF) < 0x7BFF) {
        const float next = emulator::half_value(half + 1);
        const float middle = (value + next) / 2;  // exact
        ASSERT_EQ(emulator::half_bits(middle), half % 2 ? half + 1 : half);
        ASSERT_EQ(emulator::half_bits(std::nextafter(middle, next)), half + 1);
      }
    }
    const float wide = emulator::bf16_value(half);
    if (!std::isnan(wide)) {
      ASSERT_EQ(emulator::bf16_bits(wide), half);
    }
  }
  EXPECT_EQ(emulator::half_bits(65520.0f), 0x7C00);
  EXPECT_EQ(emulator::half_bits(std::nextafter(65520.0f, 0.0f)), 0x7BFF);
}

}  // namespace
