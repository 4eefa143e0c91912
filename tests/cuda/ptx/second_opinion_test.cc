// The kernels' tests with nvcc's PTX as a second opinion: every launch is done by g++'s code and by
// the text, from the same memory, and the card's memory is compared afterwards. In the end every
// kernel that nvcc compiled has been launched and agreed.
#include "second_opinion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace {

using emulator::ptx::Comparison;

std::string text_of(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Below a folder per architecture; kernels of other cards' tensor cores trap and are left out.
std::vector<std::filesystem::path> texts() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SNUG_PTX)) {
    if (entry.path().extension() == ".ptx") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class SecondOpinion : public testing::Environment {
 public:
  void SetUp() override {
    for (const auto& path : texts()) {
      SCOPED_TRACE(path);
      try {
        emulator::ptx::load_ptx(text_of(path));
      } catch (const std::runtime_error& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }

  void TearDown() override {
    const bool is_whole = testing::GTEST_FLAG(filter) == "*";
    std::size_t exact = 0, launched = 0;
    std::uint64_t launches = 0, words = 0;
    for (const auto& [symbol, comparison] : emulator::ptx::comparisons()) {
      EXPECT_EQ(comparison.problem, "") << symbol;
      EXPECT_TRUE(comparison.launches > 0 || !is_whole) << symbol << " was never launched";
      launched += comparison.launches > 0;
      exact += comparison.launches > 0 && comparison.exact;
      launches += comparison.launches;
      words += comparison.words;
    }
    EXPECT_GT(launched, 0U);
    std::printf(
        "%zu kernels as nvcc compiled them, %zu of them bit for bit: %llu launches, %llu words\n",
        launched, exact, static_cast<unsigned long long>(launches),
        static_cast<unsigned long long>(words));
  }
};

const testing::Environment* const g_opinion = testing::AddGlobalTestEnvironment(new SecondOpinion);

}  // namespace
