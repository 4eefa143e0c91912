#include "data/batch_source.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <new>
#include <set>

#include "base/test_directory.h"
#include "data/token_file.h"

static thread_local std::int64_t allocation_count = 0;

// Counts this program's allocations, to show that steady state makes none. Not inlined: the
// compiler would see malloc without its free and warn.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocation_count;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace snug::data {
namespace {

class BatchSourceTest : public ::testing::Test {
 protected:
  static constexpr int kTokens = 50;

  BatchSourceTest()
      : file_(dir_.write("train.bin", tokens()), {.vocab_size = 50, .block_size = 8}) {}

  static std::string tokens() {
    std::vector<std::uint16_t> ids(kTokens);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::uint16_t>(i);
    return little_endian_bytes(ids);
  }

  TestDirectory dir_;
  TokenFile file_;
};

TEST_F(BatchSourceTest, YIsXOneTokenLater) {
  const BatchSource source(file_, 1337, RandomPurpose::kTrainBatch);
  for (std::int64_t iteration = 0; iteration < 200; ++iteration) {
    std::array<std::int32_t, 8> x{}, y{};
    source.fill(iteration, 3, x, y);
    EXPECT_EQ(x[0], source.start_of(iteration, 3, 8));
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_EQ(x[i], x[0] + static_cast<std::int32_t>(i));
      EXPECT_EQ(y[i], x[i] + 1);
    }
  }
}

TEST_F(BatchSourceTest, WorksForASingleToken) {
  const BatchSource source(file_, 1, RandomPurpose::kEvalVal);
  std::int32_t x = -1, y = -1;
  source.fill(0, 0, {&x, 1}, {&y, 1});
  EXPECT_EQ(y, x + 1);
}

TEST_F(BatchSourceTest, StartsAreUniformOverAllOfThem) {
  const BatchSource source(file_, 7, RandomPurpose::kTrainBatch);
  std::map<std::int64_t, int> counts;
  constexpr int kDraws = 42000;
  for (int i = 0; i < kDraws; ++i) ++counts[source.start_of(i, i % 5, 8)];
  ASSERT_EQ(counts.size(), 42u);  // [0, 50 - 8)
  EXPECT_EQ(counts.begin()->first, 0);
  EXPECT_EQ(counts.rbegin()->first, 41);
  double chi_squared = 0;  // 41 degrees of freedom: mean 41, standard deviation 9
  for (const auto& [start, count] : counts)
    chi_squared += (count - 1000.0) * (count - 1000.0) / 1000;
  EXPECT_LT(chi_squared, 41 + 5 * 9);
}

TEST_F(BatchSourceTest, IsTheDocumentedFunctionOfItsKey) {
  const BatchSource source(file_, 1337, RandomPurpose::kTrainBatch);
  const PhiloxBlock words = philox(1337, {0, 2, 11, 250});
  EXPECT_EQ(source.start_of(250, 11, 8),
            static_cast<std::int64_t>(uniform_below(words[0], words[1], 42)));
}

TEST_F(BatchSourceTest, EveryPartOfTheKeyMatters) {
  const auto starts = [&](std::uint64_t seed, RandomPurpose purpose, int swap) {
    const BatchSource source(file_, seed, purpose);
    std::vector<std::int64_t> all;
    for (int i = 0; i < 20; ++i) all.push_back(source.start_of(swap ? 9 : i, swap ? i : 9, 8));
    return all;
  };
  const std::set<std::vector<std::int64_t>> distinct{
      starts(1, RandomPurpose::kTrainBatch, 0), starts(2, RandomPurpose::kTrainBatch, 0),
      starts(1, RandomPurpose::kEvalTrain, 0), starts(1, RandomPurpose::kEvalVal, 0),
      starts(1, RandomPurpose::kTrainBatch, 1)};
  EXPECT_EQ(distinct.size(), 5u);
  EXPECT_EQ(starts(1, RandomPurpose::kTrainBatch, 0), starts(1, RandomPurpose::kTrainBatch, 0));
}

TEST_F(BatchSourceTest, AllocatesNothing) {
  const BatchSource source(file_, 1337, RandomPurpose::kTrainBatch);
  std::array<std::int32_t, 8> x{}, y{};
  const std::int64_t before = allocation_count;
  for (int i = 0; i < 100; ++i) source.fill(i, 0, x, y);
  EXPECT_EQ(allocation_count, before);
}

TEST_F(BatchSourceTest, MisuseIsABug) {
  const BatchSource source(file_, 1337, RandomPurpose::kTrainBatch);
  std::array<std::int32_t, 8> x{}, y{};
  EXPECT_THROW(source.fill(0, 0, x, std::span(y).first(7)), InternalError);
  EXPECT_THROW(source.fill(-1, 0, x, y), InternalError);
  EXPECT_THROW(source.fill(0, std::int64_t{1} << 32, x, y), InternalError);
  EXPECT_THROW(source.start_of(0, 0, kTokens), InternalError);
  EXPECT_EQ(source.start_of(0, 0, kTokens - 1), 0);
}

}  // namespace
}  // namespace snug::data
