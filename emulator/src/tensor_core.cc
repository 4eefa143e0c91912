#include "emulator/tensor_core.h"

#include <cstdint>
#include <cstring>

#include "block.h"
#include "cuda_shim/narrow_floats.h"
#include "emulator/access.h"
#include "emulator/lane.h"
#include "tensor_sum.h"

namespace emulator {
namespace {

struct LoadArgument {
  std::uint16_t row[8];
  unsigned* registers;
  unsigned count;
  bool transposed;
};

void load_together(void* const (&arguments)[kWarpLanes], std::uint32_t) {
  const auto& any = *static_cast<const LoadArgument*>(arguments[0]);
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    auto& own = *static_cast<LoadArgument*>(arguments[lane]);
    for (unsigned matrix = 0; matrix < any.count; ++matrix) {
      std::uint32_t pair = 0;
      for (unsigned i = 0; i < 2; ++i) {
        unsigned row = lane / 4, column = lane % 4 * 2 + i;
        if (any.transposed) std::swap(row, column);
        const auto& holder = *static_cast<const LoadArgument*>(arguments[matrix * 8 + row]);
        pair |= static_cast<std::uint32_t>(holder.row[column]) << 16 * i;
      }
      own.registers[matrix] = pair;
    }
  }
}

struct MultiplyArgument {
  float* d;
  const unsigned *a, *b;
  unsigned k;
  bool bfloat16;
};

float element(unsigned pair, unsigned i, bool bfloat16) {
  const auto bits = static_cast<std::uint16_t>(pair >> 16 * i);
  return bfloat16 ? bf16_value(bits) : half_value(bits);
}

float sum_of(float sum, const float* a, const float* b, unsigned terms) {
  if (!sums_are_cut_off()) {
    for (unsigned k = 0; k < terms; ++k) sum += a[k] * b[k];
    return sum;
  }
  for (unsigned k = 0; k < terms; k += kTermsAtOnce) {
    add_cut_off(&sum, a + k, 1, 1, b + k, kTermsAtOnce);
  }
  return sum;
}

void multiply_together(void* const (&arguments)[kWarpLanes], std::uint32_t) {
  const auto& any = *static_cast<const MultiplyArgument*>(arguments[0]);
  float a[16][16], b[16][8];
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    const auto& own = *static_cast<const MultiplyArgument*>(arguments[lane]);
    const unsigned row = lane / 4, pair = lane % 4 * 2;
    for (unsigned i = 0; i < 2; ++i) {
      for (unsigned half = 0; half < any.k / 8; ++half) {
        a[row][pair + i + 8 * half] = element(own.a[2 * half], i, any.bfloat16);
        a[row + 8][pair + i + 8 * half] = element(own.a[2 * half + 1], i, any.bfloat16);
        b[pair + i + 8 * half][row] = element(own.b[half], i, any.bfloat16);
      }
    }
  }
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    auto& own = *static_cast<MultiplyArgument*>(arguments[lane]);
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      float factors[16];
      for (unsigned k = 0; k < any.k; ++k) factors[k] = b[k][column];
      own.d[i] = sum_of(own.d[i], a[row], factors, any.k);
    }
  }
}

Block& block() { return *static_cast<const Lane&>(*t_lane).owner; }

void require_whole_warp(const char* what, const Site& site) {
  if (block().warp_of(block().lane()).present == ~0U) return;
  block().fail(FaultKind::kDivergence,
               std::string(what) + " at " + place(site) + " needs a warp of 32 threads");
}

}  // namespace

void load_matrices(unsigned* registers, unsigned count, const void* row, bool transposed,
                   const Site& site) {
  require_whole_warp("ldmatrix", site);
  LoadArgument argument{{}, registers, count, transposed};
  if (t_lane->index % kWarpLanes < 8 * count) {
    const char* shared = block().shared_begin();
    const char* address = static_cast<const char*>(row);
    if (address < shared || address >= shared + Block::kSharedRoom) {
      block().fail(FaultKind::kOutOfBounds,
                   "ldmatrix at " + place(site) + " outside shared memory");
    }
    if (reinterpret_cast<std::uintptr_t>(row) % 16) {
      block().fail(FaultKind::kMisaligned, "ldmatrix at " + place(site) + ": a row is not aligned");
    }
    read_wide(argument.row, row, sizeof argument.row);
  }
  warp_meet(~0U, &argument, &load_together, "ldmatrix", site);
}

void multiply_matrices(float* d, const unsigned* a, const unsigned* b, unsigned k, bool bfloat16,
                       const Site& site) {
  require_whole_warp("mma", site);
  MultiplyArgument argument{d, a, b, k, bfloat16};
  warp_meet(~0U, &argument, &multiply_together, "mma", site);
  if (t_lane->index % kWarpLanes == 0) count_mma(16 * 8 * k);
}

}  // namespace emulator
