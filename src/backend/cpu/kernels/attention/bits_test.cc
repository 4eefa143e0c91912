// Law 4 for attention: the bits of a sequence do not depend on the batch around it, on the thread
// count or on pointer alignment, on any instruction set.
#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <omp.h>

#include <vector>

#include "backend/cpu/kernels/attention/test_case.h"

namespace snug::cpu {
namespace {

// T = 257 spans three key tiles and six query tiles; odd D and H take the padded paths.
constexpr AttentionShape kShapes[] = {
    {3, 257, 1, 31, true}, {3, 100, 3, 64, true}, {2, 65, 3, 5, false}, {1, 257, 1, 64, true}};

struct Problem {
  explicit Problem(const AttentionShape& s)
      : shape(s),
        qkv(random_floats(s.B * s.T * 3 * s.C(), 21, 1.0f)),
        dout(random_floats(s.B * s.T * s.C(), 22, 1.0f)),
        dropout(test_dropout(s.dropout)) {}

  AttentionResult run(std::int64_t offset = 0) const {
    return run_attention(shape, qkv, dout, dropout, attention_fast<float>,
                         attention_backward_fast<float>, offset);
  }

  AttentionShape shape;
  std::vector<float> qkv, dout;
  Dropout dropout;
};

template <class Check>
void for_each_target_and_shape(Check check) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (const AttentionShape& shape : kShapes) {
      SCOPED_TRACE(hwy::TargetName(target));
      SCOPED_TRACE(::testing::Message() << "T " << shape.T << " D " << shape.D);
      check(Problem(shape));
    }
    hwy::SetSupportedTargetsForTest(0);
  }
}

std::vector<float> slice(const std::vector<float>& all, std::int64_t b, std::int64_t B) {
  const std::int64_t count = static_cast<std::int64_t>(all.size()) / B;
  return {all.begin() + b * count, all.begin() + (b + 1) * count};
}

TEST(AttentionBits, SameForASequenceAloneAndInABatch) {
  for_each_target_and_shape([](const Problem& whole) {
    const AttentionResult together = whole.run();
    const std::int64_t B = whole.shape.B;
    for (std::int64_t b = 0; b < B; ++b) {
      Problem alone = whole;
      alone.shape.B = 1;
      alone.qkv = slice(whole.qkv, b, B);
      alone.dout = slice(whole.dout, b, B);
      alone.dropout.first_sequence += static_cast<std::uint32_t>(b);
      const AttentionResult got = alone.run();
      EXPECT_EQ(got.out, slice(together.out, b, B));
      EXPECT_EQ(got.lse, slice(together.lse, b, B));
      EXPECT_EQ(got.dqkv, slice(together.dqkv, b, B));
    }
  });
}

// Up to eight threads, more than the machine may have: few heads are then cut into parts.
TEST(AttentionBits, SameForAnyThreadCount) {
  const int before = omp_get_max_threads();
  for_each_target_and_shape([](const Problem& problem) {
    omp_set_num_threads(1);
    const AttentionResult expected = problem.run();
    for (const int threads : {2, 3, 8}) {
      omp_set_num_threads(threads);
      EXPECT_TRUE(problem.run() == expected) << threads << " threads";
    }
  });
  omp_set_num_threads(before);
}

TEST(AttentionBits, SameForMisalignedPointers) {
  for_each_target_and_shape([](const Problem& problem) {
    const AttentionResult expected = problem.run();
    for (const std::int64_t offset : {1, 3, 7})
      EXPECT_TRUE(problem.run(offset) == expected) << offset << " floats off";
  });
}

TEST(AttentionBits, InstructionSetsAreReallySwitched) {
  // Guards the loops above: sums of different widths cannot all agree to the bit.
  const Problem problem(kShapes[1]);
  std::vector<AttentionResult> results;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    results.push_back(problem.run());
    hwy::SetSupportedTargetsForTest(0);
  }
  if (results.size() < 2) GTEST_SKIP() << "one instruction set only";
  EXPECT_FALSE(results.front() == results.back());
}

}  // namespace
}  // namespace snug::cpu
