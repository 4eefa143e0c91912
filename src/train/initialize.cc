#include "train/initialize.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/philox.h"

namespace snug::train {
namespace {

// Two normal values from two words (Box-Muller). The uniform for the logarithm is never 0.
void normal_pair(std::uint32_t a, std::uint32_t b, double std, float* out) {
  const double radius = std * std::sqrt(-2.0 * std::log((a + 1.0) * 0x1.0p-32));
  const double angle = 2.0 * std::numbers::pi * (b * 0x1.0p-32);
  out[0] = static_cast<float>(radius * std::cos(angle));
  out[1] = static_cast<float>(radius * std::sin(angle));
}

void fill_normal(std::uint64_t seed, std::int64_t parameter_index, double std, std::int64_t first,
                 std::span<float> values) {
  const std::int64_t count = std::ssize(values), blocks = (count + 3) / 4;
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::int64_t block = first / 4 + i;
    const PhiloxBlock words = philox(
        seed,
        {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(RandomPurpose::kInit),
         static_cast<std::uint32_t>(parameter_index), static_cast<std::uint32_t>(block >> 32)});
    float four[4];
    normal_pair(words[0], words[1], std, four);
    normal_pair(words[2], words[3], std, four + 2);
    std::copy_n(four, std::min<std::int64_t>(4, count - 4 * i), values.data() + 4 * i);
  }
}

}  // namespace

void initialize_parameter(const model::ParameterSpec& parameter, std::uint64_t seed,
                          std::int64_t parameter_index, std::int64_t first,
                          std::span<float> values) {
  switch (parameter.init) {
    case model::ParameterSpec::Init::kZeros:
      std::ranges::fill(values, 0.0f);
      return;
    case model::ParameterSpec::Init::kOnes:
      std::ranges::fill(values, 1.0f);
      return;
    case model::ParameterSpec::Init::kNormal:
      fill_normal(seed, parameter_index, parameter.init_std, first, values);
      return;
  }
}

}  // namespace snug::train
