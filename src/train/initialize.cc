#include "train/initialize.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/philox.h"

namespace snug {
namespace {

// Two normal values from two words (Box-Muller). The uniform for the logarithm is never 0.
void normal_pair(std::uint32_t a, std::uint32_t b, double std, float* out) {
  const double radius = std * std::sqrt(-2.0 * std::log((a + 1.0) * 0x1.0p-32));
  const double angle = 2.0 * std::numbers::pi * (b * 0x1.0p-32);
  out[0] = static_cast<float>(radius * std::cos(angle));
  out[1] = static_cast<float>(radius * std::sin(angle));
}

void fill_normal(std::uint64_t seed, std::int64_t parameter_index, double std, float* out,
                 std::int64_t count) {
  const std::int64_t blocks = (count + 3) / 4;
#pragma omp parallel for schedule(static)
  for (std::int64_t block = 0; block < blocks; ++block) {
    const PhiloxBlock words = philox(
        seed,
        {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(RandomPurpose::kInit),
         static_cast<std::uint32_t>(parameter_index), static_cast<std::uint32_t>(block >> 32)});
    float values[4];
    normal_pair(words[0], words[1], std, values);
    normal_pair(words[2], words[3], std, values + 2);
    std::copy_n(values, std::min<std::int64_t>(4, count - 4 * block), out + 4 * block);
  }
}

}  // namespace

void initialize_parameter(const ParameterSpec& parameter, std::uint64_t seed,
                          std::int64_t parameter_index, const TensorView& view) {
  float* out = view.f32();
  const std::int64_t count = view.element_count();
  switch (parameter.init) {
    case ParameterSpec::Init::kZeros:
      std::fill_n(out, count, 0.0f);
      return;
    case ParameterSpec::Init::kOnes:
      std::fill_n(out, count, 1.0f);
      return;
    case ParameterSpec::Init::kNormal:
      fill_normal(seed, parameter_index, parameter.init_std, out, count);
      return;
  }
}

}  // namespace snug
