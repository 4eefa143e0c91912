#include "doctor/diagnosis/run_search.h"

#include <gtest/gtest.h>

#include "doctor/diagnosis/for_test.h"
#include "doctor/diagnosis/log_alone.h"

namespace snug::doctor::diagnosis {
namespace {

constexpr std::string_view kBackward =
    "Traceback (most recent call last):\n"
    "  File \"/home/user/nanoGPT/train.py\", line 305, in <module>\n"
    "    scaler.scale(loss).backward()\n"
    "  File \"/usr/lib/python3/torch/_tensor.py\", line 623, in backward\n"
    "    torch.autograd.backward(\n";
constexpr std::string_view kFirstStep =
    "Traceback (most recent call last):\n"
    "  File \"/home/user/nanoGPT/train.py\", line 311, in <module>\n"
    "    scaler.step(optimizer)\n"
    "  File \"/usr/lib/python3/torch/optim/adam.py\", line 183, in _init_group\n"
    "    state[\"exp_avg_sq\"] = torch.zeros_like(\n";

LogDiagnosis search_text(const std::string& text) {
  return diagnose(log::read_text(text), nullptr, nullptr, RunSearch::kCommonSizes);
}

// GPT-2 small at batch 8 on 12 GB: expandable segments let it run.
TEST(RunSearch, FindsModelBatchAndCauseOfABareTraceback) {
  const LogDiagnosis found = search_text(std::string(kBackward) +
                                         new_message("1.54 GiB", "11.76 GiB", "1.09 GiB",
                                                     own_use("10.67 GiB"), "7.74 GiB", "2.70 GiB"));
  const Diagnosis& diagnosis = found.diagnosis;
  ASSERT_FALSE(diagnosis.candidates.empty());
  EXPECT_EQ(diagnosis.candidates[0].shape, (std::vector<std::int64_t>{8 * 1024, 50304}))
      << to_text(diagnosis);
  EXPECT_EQ(diagnosis.candidates[0].dtype, "float32");
  EXPECT_EQ(diagnosis.phase, torch::TorchPhase::kBackward);
  EXPECT_LE(total_confidence(diagnosis), 1.0);
  EXPECT_LE(diagnosis.candidates.size(), 8U);
  ASSERT_TRUE(found.matched);
  EXPECT_EQ(found.matched->run.n_layer, 12);
  EXPECT_EQ(found.matched->run.n_embd, 768);
  EXPECT_EQ(found.matched->run.batch_size * found.matched->run.block_size, 8 * 1024);
  EXPECT_NE(find_note(diagnosis, NoteId::kAssumedRun), nullptr);
}

// GPT-2 XL on 16 GB: no batch helps, and a log alone shows it.
TEST(RunSearch, StatesThatExceedTheCard) {
  const LogDiagnosis found = search_text(
      std::string(kFirstStep) + new_message("40.00 MiB", "15.60 GiB", "21.00 MiB",
                                            own_use("15.58 GiB"), "14.96 GiB", "310.00 MiB"));
  EXPECT_EQ(name_of(found.diagnosis.cause), "states_exceed_card") << to_text(found.diagnosis);
  EXPECT_EQ(find_note(found.diagnosis, NoteId::kAdviceBatch), nullptr);
}

TEST(RunSearch, OnlyForNanoGpt) {
  const std::string text =
      "Traceback (most recent call last):\n"
      "  File \"/usr/lib/python3/transformers/trainer.py\", line 1948, in train\n"
      "    loss.backward()\n" +
      new_message("1.54 GiB", "11.76 GiB", "1.09 GiB", own_use("10.67 GiB"), "7.74 GiB",
                  "2.70 GiB");
  EXPECT_FALSE(shows_nanogpt(log::read_text(text).events.front()));
  EXPECT_TRUE(
      shows_nanogpt(log::read_text(std::string(kBackward) + "RuntimeError: CUDA out of memory.\n")
                        .events.front()));
  EXPECT_FALSE(search_text(text).matched);
}

// 172 MiB are 114 sequences of 1024 x 768 by chance, and Llama's MLP weight to the byte.
TEST(RunSearch, SizesThatNobodyUsesAreNotAssumed) {
  const std::string message = new_message("172.00 MiB", "39.56 GiB", "52.56 MiB",
                                          own_use("39.51 GiB"), "37.80 GiB", "336.39 MiB");
  const LogDiagnosis found = search_text(std::string(kBackward) + message);
  EXPECT_FALSE(found.matched);
  EXPECT_GT(confidence_of(found.diagnosis, {11008, 4096}, "float32"), 0.1)
      << to_text(found.diagnosis);
}

TEST(RunSearch, NotForAnotherModelAroundNanoGptsLines) {
  const std::string text =
      "  File \"/content/llama2.c/train.py\", line 312, in <module>\n"
      "    scaler.scale(loss).backward()\n"
      "torch.OutOfMemoryError: CUDA out of memory.\n";
  EXPECT_FALSE(shows_nanogpt(log::read_text(text).events.front()));
}

TEST(RunSearch, WithoutAnAmountThereIsNothingToTry) {
  const LogDiagnosis found =
      search_text(std::string(kBackward) + "torch.OutOfMemoryError: CUDA out of memory.\n");
  EXPECT_FALSE(found.matched);
  EXPECT_EQ(name_of(found.diagnosis.cause), "capacity");
}

}  // namespace
}  // namespace snug::doctor::diagnosis
