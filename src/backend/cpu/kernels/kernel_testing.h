// What the tests of the kernels share: arrays of chosen alignment that end where the allocation
// ends (so that a sanitizer sees any overrun), one check that serves every kernel, and numeric
// derivatives.
#pragma once

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "backend/cpu/kernels/kernels.h"
#include "hwy/highway.h"

namespace snug::cpu::testing {

using Values = std::vector<float>;

// Unit roundoff of float: an operation errs by at most this much of its result.
constexpr double kRound = 0x1.0p-24;
constexpr double kSmallestNormal = 0x1.0p-126;

inline Values normal_values(std::int64_t count, std::uint32_t seed, float sigma = 1.0f) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.0f, sigma);
  Values values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(generator);
  return values;
}

// A copy of `values` that begins `offset` floats after a 64-byte border.
class Array {
 public:
  Array(const Values& values, int offset)
      : count_(values.size()),
        storage_(static_cast<float*>(::operator new (
            (count_ + static_cast<std::size_t>(offset)) * sizeof(float) + (count_ == 0),
            std::align_val_t{64}))),
        data_(storage_.get() + offset) {
    std::copy(values.begin(), values.end(), data_);
  }
  float* data() const { return data_; }
  Values values() const { return Values(data_, data_ + count_); }

 private:
  struct Free {
    void operator()(float* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  std::size_t count_;
  std::unique_ptr<float, Free> storage_;
  float* data_;
};

inline Values joined(std::initializer_list<Values> parts) {
  Values all;
  for (const Values& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// How a kernel is run on a batch: which table, how many of its sequences per call, and how far
// from alignment. What comes out may depend on the first only.
struct Way {
  bool fast;
  std::int64_t sequences_per_call;
  int offset;
};

// body(first, count) for the calls over B sequences.
template <class Body>
void for_each_call(const Way& way, std::int64_t B, Body body) {
  for (std::int64_t first = 0; first < B; first += way.sequences_per_call) {
    body(first, std::min(way.sequences_per_call, B - first));
  }
}

// body() with every instruction set that this machine and this build have.
template <class Body>
void for_each_target(Body body) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    SCOPED_TRACE(hwy::TargetName(target));
    body();
    hwy::SetSupportedTargetsForTest(0);
  }
}

class ThreadCount {
 public:
  explicit ThreadCount(int count) : before_(omp_get_max_threads()) { omp_set_num_threads(count); }
  ~ThreadCount() { omp_set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

inline void expect_same_bits(const Values& actual, const Values& expected, const char* what) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(std::memcmp(&actual[i], &expected[i], sizeof(float)), 0)
        << what << ": element " << i << " of " << actual.size() << ": " << actual[i] << " and "
        << expected[i];
  }
}

inline void expect_within(const Values& actual, const Values& expected,
                          const std::vector<double>& bounds) {
  ASSERT_EQ(actual.size(), expected.size());
  ASSERT_EQ(actual.size(), bounds.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_LE(std::abs(static_cast<double>(actual[i]) - expected[i]), bounds[i])
        << "element " << i << " of " << actual.size() << ": " << actual[i] << " for "
        << expected[i];
  }
}

// The check of a kernel: run_op(Way) returns all its outputs for one batch of B sequences. On every
// instruction set the fast kernel is within `bounds` of the reference, and its bits depend neither
// on how the batch is split, nor on alignment, nor on the number of threads.
template <class RunOp>
void check_kernel(std::int64_t B, RunOp run_op, const std::vector<double>& bounds) {
  const Values reference = run_op(Way{false, B, 0});
  for_each_target([&] {
    const Values fast = run_op(Way{true, B, 0});
    expect_within(fast, reference, bounds);
    for (const std::int64_t part : {1, 2}) {
      if (part < B) expect_same_bits(run_op(Way{true, part, 0}), fast, "split batch");
    }
    for (const int offset : {1, 3}) {
      expect_same_bits(run_op(Way{true, B, offset}), fast, "misaligned");
    }
    for (const int threads : {1, 2}) {
      const ThreadCount guard(threads);
      expect_same_bits(run_op(Way{true, B, 0}), fast, "thread count");
    }
  });
}

// The difference quotient of f over x - h .. x + h, at the float x that f reads.
template <class Function>
double central_difference(Function f, float& x, float h) {
  const float kept = x, above = kept + h, below = kept - h;
  x = above;
  const double high = f();
  x = below;
  const double low = f();
  x = kept;
  return (high - low) / (static_cast<double>(above) - static_cast<double>(below));
}

// df/dx at the float x that f reads, from central differences at two steps (Richardson). With
// h = 1/16 the truncation error is h^4 / 30 or less of the fifth derivative, 1e-6, and the rounding
// of f's float outputs, a few of size 1, costs a few kRound / h, 1e-5.
template <class Function>
double numeric_derivative(Function f, float& x) {
  const auto central = [&](float h) { return central_difference(f, x, h); };
  return (4.0 * central(1.0f / 32) - central(1.0f / 16)) / 3.0;
}
constexpr double kDerivativeTolerance = 1e-4;

// sum of values[i] * weights[i]: a scalar whose gradient with respect to values is weights.
inline double weighted_sum(const Values& values, const Values& weights) {
  double sum = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i)
    sum += static_cast<double>(values[i]) * weights[i];
  return sum;
}

// Three quarters of the elements are kept.
inline Dropout quarter_dropout() {
  return {.seed = 0x123456789ABCDEFULL,
          .site = (1u << 16) + 9,
          .iteration = 7,
          .first_sequence = 5,
          .threshold = 1u << 30,
          .scale = 4.0f / 3.0f};
}

inline Dropout from_sequence(Dropout dropout, std::int64_t first) {
  dropout.first_sequence += static_cast<std::uint32_t>(first);
  return dropout;
}

struct BatchShape {
  std::int64_t B, T, C;
};

// Odd widths, widths of whole vectors, one position and many; the last is shared between threads.
constexpr BatchShape kShapes[] = {{1, 1, 1},  {3, 1, 3},   {2, 5, 7},   {3, 2, 16},
                                  {2, 9, 33}, {2, 70, 17}, {3, 4, 128}, {3, 70, 768}};

}  // namespace snug::cpu::testing
