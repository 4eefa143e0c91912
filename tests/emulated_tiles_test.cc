// The code of AMX and AVX512_BF16 on any processor: this program is linked with both units compiled
// against emulated intrinsics, in place of the library's own.
#include <gtest/gtest.h>

#include "backend/cpu/widened/widened_product_testing.h"

namespace snug::cpu::testing {
namespace {

TEST(EmulatedTiles, OnAmx) { check_tile_products(TileUnit::kAmx, 40); }

TEST(EmulatedTiles, OnAvx512Bf16) { check_tile_products(TileUnit::kAvx512Bf16, 40); }

}  // namespace
}  // namespace snug::cpu::testing
