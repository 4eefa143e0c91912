// How the sums of tensor cores are made: in float, term after term; or, where that is ordered, as
// cards make them, as far as experiments have shown (Fasi, Higham, Mikaitis, Pranesh: Numerical
// behavior of NVIDIA tensor cores, 2021).
#pragma once

#include <cstdint>

namespace emulator {

constexpr std::int64_t kTermsAtOnce = 8;  // of a tensor core
constexpr std::int64_t kSumsAtOnce = 64;  // of one call

// Ordered by cut_off_sums(), or by EMULATOR_SUMS=cut in the environment.
bool sums_are_cut_off();
void set_sums_cut_off(bool cut_off);
bool sums_are_cut_off_by_environment();

// sums[r] += sum over k < terms of a[k * m + r] * b[k], for at most kSumsAtOnce of them and at most
// kTermsAtOnce terms: these and the sum so far are aligned to the largest of them, cut off one bit
// below a float's last place, added exactly, and cut off to a float.
void add_cut_off(float* sums, const float* a, std::int64_t m, std::int64_t rows, const float* b,
                 std::int64_t terms);

}  // namespace emulator
