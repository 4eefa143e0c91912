#include "train/start.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"

namespace snug::train {
namespace {

config::LoadedConfig loaded(const std::vector<std::string>& arguments) {
  return config::load_config(config::Command::kTrain, arguments);
}

TEST(TakeModelKeys, SaysThatTheyComeFromTheCheckpoint) {
  const config::Config saved = loaded({"--n_embd=96", "--n_head=6", "--dropout=0.1"}).values;
  config::LoadedConfig config = loaded({"--n_embd=24", "--batch_size=3"});
  take_model_keys(config::config_to_json(saved), config);
  EXPECT_EQ(config.values.n_embd, 96);
  EXPECT_EQ(config.values.n_head, 6);
  EXPECT_EQ(config.values.dropout, 0);
  for (const char* key : {"n_layer", "n_head", "n_embd", "block_size", "bias", "vocab_size"}) {
    ASSERT_TRUE(config.is_set(key)) << key;
    EXPECT_EQ(config.origins.at(key).kind, config::Origin::Kind::kCheckpoint) << key;
  }
  EXPECT_EQ(config.origins.at("batch_size").kind, config::Origin::Kind::kCommandLine);
  ASSERT_EQ(config.notices.size(), 1u);
  EXPECT_EQ(config.notices[0], "n_embd = 96 comes from the checkpoint, not 24");
}

TEST(TakeModelKeys, ACheckpointThatContradictsItselfIsBlamed) {
  config::Config saved = loaded({}).values;
  saved.n_embd = 100;  // 12 heads
  config::LoadedConfig config = loaded({"--n_embd=24"});
  try {
    take_model_keys(config::config_to_json(saved), config);
    FAIL() << "nothing thrown";
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()).rfind("checkpoint: n_embd = 100", 0), 0u) << error.what();
  }
}

}  // namespace
}  // namespace snug::train
