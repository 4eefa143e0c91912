// The run that a log and a config describe together.
#include <gtest/gtest.h>

#include "doctor/diagnosis/for_test.h"
#include "doctor/diagnosis/settings.h"

namespace snug::doctor::diagnosis {
namespace {

// Everything of one note of the kind; empty: there is none.
std::string noted(const LogSettingsTaken& taken, NoteId id) {
  for (const Note& note : taken.notes) {
    if (note.id == id) return fmt::format("{}", fmt::join(note.arguments, " | "));
  }
  return "";
}

LogSettingsTaken take_from(std::string_view text, config::LoadedConfig& config) {
  return take_settings_from_log(log::read_text(text), config);
}

TEST(DiagnosisSettings, EchoThenOverrides) {
  config::LoadedConfig config = config::load_config(config::Command::kPlan, arguments_of(""));
  const LogSettingsTaken taken = take_from(
      "Overriding config with config/mine.py:\n"
      "batch_size = 12\ngradient_accumulation_steps = 5 * 8\ndtype = 'float16'\n"
      "Overriding: batch_size = 64\n"
      "tokens per iteration will be: 2,621,440\n"
      "found vocab_size = 65 (inside data/x/meta.pkl)\n",
      config);
  EXPECT_TRUE(taken.describes_run);
  EXPECT_EQ(config.values.batch_size, 64);
  EXPECT_EQ(config.values.eval_batch_size, 64);
  EXPECT_EQ(config.values.gradient_accumulation_steps, 40);
  EXPECT_EQ(config.values.dtype, "float16");
  EXPECT_EQ(config.values.vocab_size, 65);
  EXPECT_EQ(noted(taken, NoteId::kSettingsFromLog),
            "vocab_size = 65, batch_size = 64, dtype = 'float16', "
            "gradient_accumulation_steps = 40");
  EXPECT_EQ(noted(taken, NoteId::kOtherTokens), "");
}

TEST(DiagnosisSettings, WhatTheUserToldTheDoctorStays) {
  config::LoadedConfig config =
      config::load_config(config::Command::kPlan, arguments_of("batch_size=8"));
  const LogSettingsTaken taken =
      take_from("Overriding: batch_size = 64\nOverriding: block_size = 512\n", config);
  EXPECT_EQ(config.values.batch_size, 8);
  EXPECT_EQ(config.values.block_size, 512);
  EXPECT_EQ(noted(taken, NoteId::kSettingsFromLog), "block_size = 512");
}

TEST(DiagnosisSettings, PretrainedModels) {
  config::LoadedConfig config = config::load_config(config::Command::kPlan, arguments_of(""));
  const LogSettingsTaken taken = take_from(
      "Initializing from OpenAI GPT-2 weights: gpt2-xl\nnumber of parameters: 1555.97M\n", config);
  EXPECT_TRUE(taken.describes_run);
  EXPECT_EQ(config.values.n_layer, 48);
  EXPECT_EQ(config.values.n_embd, 1600);
  EXPECT_EQ(config.values.vocab_size, 50257);
  EXPECT_TRUE(config.values.bias);
  EXPECT_EQ(noted(taken, NoteId::kOtherParameters), "");
  // nanoGPT's own file, named on the command line only.
  config::LoadedConfig named = config::load_config(config::Command::kPlan, arguments_of(""));
  EXPECT_TRUE(take_from("python train.py config/finetune_shakespeare.py\n", named).describes_run);
  EXPECT_EQ(named.values.n_layer, 48);
  EXPECT_EQ(named.values.batch_size, 1);
}

TEST(DiagnosisSettings, DisagreementIsSaid) {
  config::LoadedConfig config =
      config::load_config(config::Command::kPlan, arguments_of("n_layer=6"));
  const LogSettingsTaken taken =
      take_from("tokens per iteration will be: 1,000\nnumber of parameters: 123.59M\n", config);
  EXPECT_EQ(noted(taken, NoteId::kOtherTokens), "1,000 | 491,520");
  EXPECT_EQ(noted(taken, NoteId::kOtherParameters), "123.59M | 81.11M");
}

TEST(DiagnosisSettings, ImpossibleOnesAreLeftOut) {
  config::LoadedConfig config = config::load_config(config::Command::kPlan, arguments_of(""));
  const LogSettingsTaken taken = take_from("Overriding: n_embd = 512\n", config);
  EXPECT_FALSE(taken.describes_run);
  EXPECT_EQ(config.values.n_embd, 768);
  EXPECT_EQ(noted(taken, NoteId::kLogSettingsNotUsed), "n_embd = 512");
  EXPECT_FALSE(take_from("KeyError: 'x'\n", config).describes_run);
  EXPECT_TRUE(take_from("KeyError: 'x'\n", config).notes.empty());
  take_from("Overriding: batch_size = -3\nOverriding: dtype = 7\n", config);
  EXPECT_EQ(config.values.batch_size, 12);
}

TEST(DiagnosisSettings, KeysThatDecideMemory) {
  for (const char* key : {"batch_size", "dtype", "compile", "eval_batch_size", "init_from"}) {
    EXPECT_TRUE(decides_memory(key)) << key;
  }
  for (const char* key : {"color", "card", "learning_rate", "out_dir", "device"}) {
    EXPECT_FALSE(decides_memory(key)) << key;
  }
}

TEST(DiagnosisSettings, AnotherTrainersCommandIsNotNanoGpts) {
  config::LoadedConfig config = config::load_config(config::Command::kPlan, arguments_of(""));
  EXPECT_FALSE(take_from("python run_clm.py --model_name_or_path=gpt2 --batch_size=4\n", config)
                   .describes_run);
}

TEST(DiagnosisRun, TheLogDecidesTheEra) {
  const config::Config config =
      config::load_config(config::Command::kPlan, arguments_of("")).values;
  const auto run_of = [&](std::string_view text) {
    const log::LogSummary log = log::read_text(text);
    return torch_run_of(config, 50304, &log);
  };
  EXPECT_TRUE(run_of("").compiled);
  EXPECT_EQ(run_of("").version, torch::TorchVersion::kCurrent);
  const std::string old =
      old_message("100.00 MiB", "23.68 GiB", "21.67 GiB", "85.06 MiB", "21.92 GiB", "RuntimeError");
  EXPECT_EQ(run_of(old).version, torch::TorchVersion::kOlder);
  EXPECT_FALSE(run_of(old).flash);
  EXPECT_FALSE(run_of(old).compiled);
  EXPECT_FALSE(
      run_of("WARNING: using slow attention. Flash Attention requires PyTorch >= 2.0\n").flash);
  EXPECT_EQ(run_of("PyTorch version: 2.0.1\n").version, torch::TorchVersion::kOlder);
  EXPECT_TRUE(run_of("Resuming training from out\n").resumed);
  EXPECT_FALSE(run_of("Overriding: compile = False\n").compiled);
  EXPECT_FALSE(run_of("using fused AdamW: False\n").fused_adam);
}

TEST(DiagnosisRun, RanksDivideTheAccumulation) {
  const config::Config config =
      config::load_config(config::Command::kPlan, arguments_of("")).values;
  const log::LogSummary log = log::read_text("torchrun --standalone --nproc_per_node=8 train.py\n");
  const torch::TorchRun run = torch_run_of(config, 50304, &log);
  EXPECT_TRUE(run.ddp);
  EXPECT_EQ(run.world_size, 8);
  EXPECT_EQ(run.accumulation_steps, 5);
}

}  // namespace
}  // namespace snug::doctor::diagnosis
