// Both tables of kernels are whole: a kernel that is declared but not entered is a null call.
#include "backend/cpu/kernels/fast_kernels.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>

namespace snug::cpu {
namespace {

using Entries = std::array<std::uintptr_t, sizeof(KernelTable) / sizeof(void (*)())>;

TEST(KernelTables, HaveEveryKernelAndNoneTwice) {
  const auto fast = std::bit_cast<Entries>(fast_kernels());
  const auto reference = std::bit_cast<Entries>(reference_kernels());
  for (std::size_t i = 0; i < fast.size(); ++i) {
    EXPECT_NE(fast[i], 0u) << i;
    EXPECT_NE(reference[i], 0u) << i;
    EXPECT_NE(fast[i], reference[i]) << i;
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(fast[i], fast[j]) << i << " and " << j;
  }
}

}  // namespace
}  // namespace snug::cpu
