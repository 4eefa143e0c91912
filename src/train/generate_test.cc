#include "train/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "backend/cpu/cpu_executor.h"
#include "base/test_directory.h"
#include "device/cpu_device.h"
#include "gpt2/spec.h"

namespace snug::train {
namespace {

constexpr std::int64_t kVocabulary = 11;

// A small model whose weights are all `value`: every token is then as likely as any other.
class GeneratorTest : public ::testing::Test {
 protected:
  GeneratorTest() {
    config::Config config;
    config.n_layer = 1;
    config.n_head = 1;
    config.n_embd = 8;
    config.block_size = 4;
    config.threads = 1;
    const device::CpuDevice device(config);
    run_ = plan::plan_sampling(gpt2::make_model_spec(config, kVocabulary), config.block_size,
                               DType::kF32, device.target());
    generator_ = std::make_unique<Generator>(*run_, device);
    fill(0.0f);
  }

  void fill(float value) {
    auto& executor = dynamic_cast<cpu::CpuExecutor&>(generator_->executor());
    for (const TensorId id : run_->program.weights) {
      const cpu::TensorView view = executor.view(id);
      std::fill_n(view.f32(), view.element_count(), value);
    }
  }

  std::vector<std::int32_t> drawn(std::vector<std::int32_t> tokens,
                                  const Generator::Settings& settings) {
    generator_->generate(settings, 0, tokens, [](std::int32_t) { return true; });
    return tokens;
  }

  std::unique_ptr<plan::RunPlan> run_;
  std::unique_ptr<Generator> generator_;
};

TEST_F(GeneratorTest, DrawsOnlyTheTokensThatAreAskedFor) {
  Generator::Settings settings;
  settings.max_new_tokens = 300;
  const auto all = drawn({0}, settings);
  EXPECT_EQ(*std::max_element(all.begin(), all.end()), kVocabulary - 1);
  settings.token_count = 3;
  const auto few = drawn({0}, settings);
  EXPECT_EQ(few.size(), 301u);
  EXPECT_EQ(*std::max_element(few.begin(), few.end()), 2);
  settings.token_count = 1000;  // more than there are: all
  EXPECT_EQ(drawn({0}, settings), all);
}

TEST_F(GeneratorTest, RefusesIdsThatTheModelDoesNotHave) {
  for (const std::int32_t bad : {-1, 11, 1 << 30}) {
    const std::string message = message_of<DataError>([&] { drawn({0, bad}, {}); });
    expect_holds(message, {"token 1 of the prompt", std::to_string(bad).c_str(), "11 tokens"});
  }
}

TEST_F(GeneratorTest, RefusesWeightsThatAreNotFinite) {
  for (const float bad : {NAN, INFINITY}) {
    fill(bad);
    for (const std::int64_t top_k : {0, 3}) {
      Generator::Settings settings;
      settings.top_k = top_k;
      const std::string message = message_of<DataError>([&] { drawn({0}, settings); });
      expect_holds(message, {"the checkpoint's weights are not finite"});
    }
  }
}

}  // namespace
}  // namespace snug::train
