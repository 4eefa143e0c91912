// Runs on the card that is in the machine, for the tests of whole trainings on the fake one.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "device/cuda_device.h"
#include "engine_testing.h"

namespace snug {

inline config::Config on_card(config::Config config) {
  config.device = "emulated";
  config.card = "rtx3060";
  return config;
}

class CardRun : public train::RandomRun {
 public:
  explicit CardRun(const config::Config& config)
      : train::RandomRun(config, std::make_unique<device::CudaDevice>(config), 5000, nullptr) {}

  std::string bytes() { return state_bytes(*this); }
};

inline std::vector<float> floats_of(const std::string& bytes) {
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

inline double largest_difference(const std::string& a, const std::string& b) {
  const std::vector<float> x = floats_of(a), y = floats_of(b);
  EXPECT_EQ(x.size(), y.size());
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(x[i]) - y[i]));
  }
  return largest;
}

inline config::Config float_config() {
  config::Config config = small_config();
  config.batch_size = config.eval_batch_size = 4;
  config.gradient_accumulation_steps = 2;
  config.learning_rate = 1e-3;
  return config;
}

}  // namespace snug
