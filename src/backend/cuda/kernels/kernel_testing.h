// Arrays on the card for tests of kernels: random numbers there and back in any precision, each in
// an allocation of its own, and comparison with a reference within a bound that is derived.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "backend/cuda/kernels/kernels.h"

namespace snug::cuda {

using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;

inline constexpr std::array kPrecisions = {DType::kF32, DType::kBF16, DType::kF16};

// Half a unit in the last place, relative.
inline double rounding_of(DType dtype) {
  return dtype == DType::kBF16 ? 0x1p-8 : dtype == DType::kF16 ? 0x1p-11 : 0x1p-24;
}

inline float rounded_to(DType dtype, float x) {
  if (dtype == DType::kBF16) return __bfloat162float(__float2bfloat16_rn(x));
  if (dtype == DType::kF16) return __half2float(__float2half_rn(x));
  return x;
}

inline void expect_success(cudaError_t error) {
  ASSERT_EQ(error, cudaSuccess) << cudaGetErrorString(error);
}

// `count` elements of a type, in an allocation of exactly that size.
class CardArray {
 public:
  CardArray(DType dtype, std::size_t count) : dtype_(dtype), count_(count) {
    expect_success(cudaMalloc(&data_, std::max<std::size_t>(bytes(), 1)));
  }
  CardArray(DType dtype, const Floats& values) : CardArray(dtype, values.size()) { put(values); }
  explicit CardArray(const Ints& values) : CardArray(DType::kI32, values.size()) {
    expect_success(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice));
  }
  ~CardArray() { cudaFree(data_); }
  CardArray(const CardArray&) = delete;
  CardArray& operator=(const CardArray&) = delete;

  void* data() const { return data_; }
  float* f32() const { return static_cast<float*>(data_); }
  double* f64() const { return static_cast<double*>(data_); }
  std::int32_t* i32() const { return static_cast<std::int32_t*>(data_); }
  std::size_t bytes() const { return count_ * static_cast<std::size_t>(size_of(dtype_)); }

  Floats floats() const {
    std::vector<std::byte> raw = bytes_on_host();
    Floats values(count_);
    for (std::size_t i = 0; i < count_; ++i) values[i] = element(raw.data(), i);
    return values;
  }
  Ints ints() const {
    Ints values(count_);
    const std::vector<std::byte> raw = bytes_on_host();
    std::memcpy(values.data(), raw.data(), raw.size());
    return values;
  }
  std::vector<std::byte> bytes_on_host() const {
    std::vector<std::byte> raw(bytes());
    expect_success(cudaDeviceSynchronize());
    expect_success(cudaMemcpy(raw.data(), data_, raw.size(), cudaMemcpyDeviceToHost));
    return raw;
  }

 private:
  void put(const Floats& values) {
    std::vector<std::byte> raw(bytes());
    for (std::size_t i = 0; i < count_; ++i) set_element(raw.data(), i, values[i]);
    expect_success(cudaMemcpy(data_, raw.data(), raw.size(), cudaMemcpyHostToDevice));
  }
  float element(const std::byte* raw, std::size_t i) const {
    const std::byte* at = raw + i * static_cast<std::size_t>(size_of(dtype_));
    const auto as = [&]<class T>(T value) {
      std::memcpy(&value, at, sizeof value);
      return value;
    };
    if (dtype_ == DType::kBF16) return __bfloat162float(as(__nv_bfloat16()));
    if (dtype_ == DType::kF16) return __half2float(as(__half()));
    return as(0.0f);
  }
  void set_element(std::byte* raw, std::size_t i, float value) const {
    std::byte* at = raw + i * static_cast<std::size_t>(size_of(dtype_));
    const auto copy = [&](auto element) { std::memcpy(at, &element, sizeof element); };
    if (dtype_ == DType::kBF16) return copy(__float2bfloat16_rn(value));
    if (dtype_ == DType::kF16) return copy(__float2half_rn(value));
    copy(value);
  }

  DType dtype_;
  std::size_t count_;
  void* data_ = nullptr;
};

// Normal numbers as the precision holds them, so that card and reference start from the same.
inline Floats random_floats(std::int64_t count, DType dtype, unsigned seed, double spread = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, spread);
  Floats values(static_cast<std::size_t>(count));
  for (float& value : values) value = rounded_to(dtype, static_cast<float>(normal(random)));
  return values;
}

inline Ints random_tokens(std::int64_t count, std::int32_t below, unsigned seed) {
  std::mt19937 random(seed);
  Ints values(static_cast<std::size_t>(count));
  for (std::int32_t& value : values) value = static_cast<std::int32_t>(random() % below);
  return values;
}

// |card - reference| <= relative |reference| + absolute, element by element.
inline void expect_near(const Floats& card, const Floats& reference, double relative,
                        double absolute, const char* what) {
  ASSERT_EQ(card.size(), reference.size());
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < card.size(); ++i) {
    const double bound = relative * std::abs(reference[i]) + absolute;
    const double difference = std::abs(static_cast<double>(card[i]) - reference[i]);
    const double share = difference == 0 ? 0 : difference / bound;
    if (!(share <= worst)) {
      worst = share;
      at = i;
    }
  }
  EXPECT_TRUE(worst <= 1) << what << "[" << at << "]: " << card[at] << " where the reference has "
                          << reference[at] << ", " << worst << " times the bound";
}

inline Dropout some_dropout() {
  return {.seed = 0x123456789abcdefull,
          .site = 65536 + 9,
          .iteration = 7,
          .first_sequence = 3,
          .threshold = 0x33333333,
          .scale = 1.25f};
}

// The same draw as the CPU's kernels take it.
template <class CpuDropout>
CpuDropout as_cpu(const Dropout& d) {
  return {d.seed, d.site, d.iteration, d.first_sequence, d.threshold, d.scale};
}

}  // namespace snug::cuda
