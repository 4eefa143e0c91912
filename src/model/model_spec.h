// ModelSpec: what a model consists of, parameter by parameter, and the family that emits its ops.
// It knows nothing of batches, phases or devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/shape.h"
#include "config/gpt_sizes.h"

namespace snug::program {
class Network;  // program/network.h
}

namespace snug::model {

struct ParameterSpec {
  enum class Init { kZeros, kOnes, kNormal };

  std::string name;  // as in nanoGPT's state dict
  Shape shape;       // linear weights are (out, in)
  bool decays;       // weight decay applies: two or more dimensions
  Init init;
  double init_std;  // kNormal only
};

struct ModelSpec : config::GptSizes {
  const program::Network* network = nullptr;  // of the family; lives as long as the program
  std::vector<ParameterSpec>
      parameters;  // in nanoGPT's order; lm_head is tied to wte and not listed

  std::int64_t parameter_count() const;
  // What nanoGPT prints: without the position embedding.
  std::int64_t reported_parameter_count() const;
};

// nanoGPT's estimate of floating-point operations per token, forward and backward.
double flops_per_token(const ModelSpec& model, std::int64_t block_size);

}  // namespace snug::model
