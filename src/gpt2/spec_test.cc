#include "gpt2/spec.h"

#include <gtest/gtest.h>

namespace snug::gpt2 {
namespace {

// The counts that nanoGPT prints for its default model.
TEST(ModelSpec, CountsGpt2AsNanoGptDoes) {
  const model::ModelSpec model = make_model_spec(config::GptSizes{}, 50304);
  EXPECT_EQ(model.reported_parameter_count(), 123587328);  // "123.59M"
  std::int64_t decayed = 0, others = 0, decayed_tensors = 0, other_tensors = 0;
  for (const model::ParameterSpec& p : model.parameters) {
    (p.decays ? decayed : others) += p.shape.element_count();
    (p.decays ? decayed_tensors : other_tensors) += 1;
  }
  EXPECT_EQ(decayed_tensors, 50);
  EXPECT_EQ(decayed, 124354560);
  EXPECT_EQ(other_tensors, 25);
  EXPECT_EQ(others, 19200);
}

TEST(ModelSpec, BiasAddsOneVectorPerLinearAndNorm) {
  config::GptSizes config;
  config.n_layer = 2;
  config.n_embd = 8;
  config.n_head = 2;
  config.block_size = 4;
  const std::int64_t without = make_model_spec(config, 11).parameter_count();
  config.bias = true;
  const model::ModelSpec model = make_model_spec(config, 11);
  const std::int64_t per_layer = 8 + 24 + 8 + 8 + 32 + 8;
  EXPECT_EQ(model.parameter_count(), without + 2 * per_layer + 8);
  for (const model::ParameterSpec& p : model.parameters)
    EXPECT_EQ(p.decays, p.shape.rank() >= 2) << p.name;
}

}  // namespace
}  // namespace snug::gpt2
