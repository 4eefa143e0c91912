// Numbers without a config.
#include <gtest/gtest.h>

#include <random>

#include "doctor/diagnosis/for_test.h"

namespace snug::doctor::diagnosis {
namespace {

bool proposes(const Diagnosis& diagnosis, const std::vector<std::int64_t>& shape,
              std::string_view dtype) {
  return confidence_of(diagnosis, shape, dtype) > 0;
}

Diagnosis read_number(std::string_view request) {
  return diagnose_text(old_message(request, "23.68 GiB", "21.67 GiB", "11.06 MiB", "21.70 GiB"));
}

TEST(DiagnosisGuesses, CommonModels) {
  EXPECT_TRUE(proposes(read_number("6.14 GiB"), {32, 1024, 50304}, "float32"));
  EXPECT_TRUE(proposes(read_number("6.14 GiB"), {64, 1024, 50304}, "bfloat16"));
  EXPECT_TRUE(proposes(read_number("394.00 MiB"), {2, 1024, 50304}, "float32"));
  EXPECT_TRUE(proposes(read_number("394.00 MiB"), {4, 1024, 50304}, "bfloat16"));
  EXPECT_TRUE(proposes(read_number("786.00 MiB"), {4, 1024, 50257}, "float32"));
  EXPECT_TRUE(proposes(read_number("786.00 MiB"), {4, 1023, 50257}, "float32"));
  EXPECT_TRUE(proposes(read_number("148.00 MiB"), {50257, 768}, "float32"));
  EXPECT_TRUE(proposes(read_number("88.00 MiB"), {64, 512, 1408}, "bfloat16"));
  EXPECT_TRUE(proposes(read_number("384.00 MiB"), {8, 12, 1024, 1024}, "float32"));
  EXPECT_TRUE(proposes(read_number("86.00 MiB"), {11008, 4096}, "bfloat16"));
  EXPECT_TRUE(proposes(read_number("2.32 GiB"), {8, 1024, 151936}, "bfloat16"));
}

// The loss makes more tensors of a size in float32 than logits has in half precision; with a class
// of its own the exception is of nanoGPT's time, and so is its vocabulary.
TEST(DiagnosisGuesses, ALossIsSoonerOfFloat32) {
  const Diagnosis diagnosis =
      diagnose_text(fmt::format("torch.cuda.OutOfMemoryError: {}",
                                "CUDA out of memory. Tried to allocate 394.00 MiB (GPU 0; "
                                "15.78 GiB total capacity; 14.17 GiB already allocated; "
                                "8.68 MiB free; 15.25 GiB reserved in total by PyTorch)"));
  EXPECT_EQ(diagnosis.candidates.at(0).shape, (std::vector<std::int64_t>{2, 1024, 50304}))
      << to_text(diagnosis);
  EXPECT_EQ(diagnosis.candidates.at(0).dtype, "float32");
}

// MPS prints the request itself: the rounded vocabulary is told from the real one.
TEST(DiagnosisGuesses, ExactOnMps) {
  const Diagnosis diagnosis = diagnose_text(
      "RuntimeError: MPS backend out of memory (MPS allocated: 5.50 GB, other allocations: 14.76 "
      "GB, max allowed: 20.40 GB). Tried to allocate 147.24 MB on private pool.\n");
  EXPECT_EQ(diagnosis.candidates.at(0).shape, (std::vector<std::int64_t>{50257, 768}));
  EXPECT_FALSE(proposes(diagnosis, {50304, 768}, "float32"));
  EXPECT_NE(find_note(diagnosis, NoteId::kMpsSharesRam), nullptr);
}

TEST(DiagnosisGuesses, SaysHowItReads) {
  const Diagnosis diagnosis = read_number("6.14 GiB");
  ASSERT_FALSE(diagnosis.candidates.empty());
  for (const Candidate& candidate : diagnosis.candidates) {
    EXPECT_EQ(candidate.evidence, Evidence::kGuess);
    ASSERT_TRUE(candidate.guess);
    EXPECT_FALSE(candidate.guess->model.empty());
    EXPECT_GT(candidate.confidence, 0);
  }
  EXPECT_LE(total_confidence(diagnosis), 0.8);
}

TEST(DiagnosisGuesses, WhatTheLogMentionsCounts) {
  const std::string message =
      old_message("394.00 MiB", "15.78 GiB", "15.17 GiB", "68.00 MiB", "15.20 GiB");
  const Diagnosis plain = diagnose_text(message);
  const Diagnosis told = diagnose_text(
      fmt::format("train_lm(per_gpu_train_batch_size=2, vocab_size=50304)\n{}", message));
  const std::vector<std::int64_t> shape{2, 1024, 50304};
  EXPECT_EQ(told.candidates.at(0).shape, shape) << to_text(told);
  EXPECT_GT(confidence_of(told, shape, "float32"), confidence_of(plain, shape, "float32"));
}

// The line of the traceback raises the guesses that go with it, and stands alone only without one.
TEST(DiagnosisGuesses, ALineOfTheTracebackChooses) {
  const auto at_attention = [](std::string_view request) {
    return diagnose_text(
        fmt::format("  File \"model.py\", line 67, in forward\n"
                    "    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))\n{}",
                    old_message(request, "23.68 GiB", "21.67 GiB", "11.06 MiB", "21.70 GiB")));
  };
  const Diagnosis diagnosis = at_attention("512.00 MiB");
  ASSERT_FALSE(diagnosis.candidates.empty());
  EXPECT_EQ(diagnosis.candidates[0].tensor, "attention scores") << to_text(diagnosis);
  EXPECT_EQ(diagnosis.candidates[0].evidence, Evidence::kSizeAndFrame);
  EXPECT_TRUE(proposes(diagnosis, {8, 16, 1024, 1024}, "float32")) << to_text(diagnosis);
  for (const Candidate& candidate : diagnosis.candidates) {
    EXPECT_FALSE(candidate.shape.empty()) << to_text(diagnosis);
    EXPECT_GE(candidate.confidence, 0.01) << to_text(diagnosis);
  }
  EXPECT_LT(total_confidence(diagnosis), 1);
  const Diagnosis small = at_attention("2.00 MiB");
  ASSERT_EQ(small.candidates.size(), 1U);
  EXPECT_EQ(small.candidates[0].tensor, "attention scores or probabilities");
}

TEST(DiagnosisGuesses, NothingBelowOnePercent) {
  for (const char* request : {"394.00 MiB", "6.14 GiB", "148.00 MiB", "512.00 MiB", "2.32 GiB"}) {
    for (const Candidate& candidate : read_number(request).candidates) {
      EXPECT_GE(candidate.confidence, 0.01) << request;
    }
  }
}

TEST(DiagnosisGuesses, ConfigWithoutSuchATensor) {
  const Diagnosis diagnosis =
      diagnose_text(new_message("88.00 MiB", "7.75 GiB", "49.56 MiB", own_use("7.43 GiB"),
                                "7.16 GiB", "4.62 MiB"),
                    "batch_size=64 block_size=512 n_embd=512 n_head=8 n_layer=8 vocab_size=6400");
  EXPECT_TRUE(proposes(diagnosis, {64, 512, 1408}, "bfloat16")) << to_text(diagnosis);
  EXPECT_LE(total_confidence(diagnosis), 0.5);
}

TEST(DiagnosisGuesses, SmallNumbersSayNothing) {
  EXPECT_TRUE(read_number("2.00 MiB").candidates.empty());
  EXPECT_TRUE(read_number("20.00 MiB").candidates.empty());
}

// An amount without decimals stands for half as much or half as much again: all have such a size.
TEST(DiagnosisGuesses, WideRangesSayNothing) {
  for (const char* request : {"1 GiB", "2 GB", "4 GiB", "9 GB", "1 TiB"}) {
    EXPECT_TRUE(read_number(request).candidates.empty()) << request;
  }
  EXPECT_FALSE(read_number("200 MiB").candidates.empty());
  EXPECT_FALSE(read_number("24.00 MiB").candidates.empty());
}

// Any numbers, also impossible ones, give an answer whose confidence adds up.
TEST(DiagnosisGuesses, AnyNumbers) {
  std::mt19937 random(7);
  const auto amount = [&random] {
    constexpr std::string_view kUnits[] = {"bytes", "KiB", "MiB", "GiB"};
    const double value = std::exp(std::uniform_real_distribution<>(0, 14)(random));
    return fmt::format("{:.2f} {}", value, kUnits[random() % 4]);
  };
  const torch::TorchMemory memory = memory_of("batch_size=4 n_layer=2");
  for (int i = 0; i < 300; ++i) {
    const std::string text =
        i % 2 == 0
            ? old_message(amount(), amount(), amount(), amount(), amount())
            : new_message(amount(), amount(), amount(), own_use(amount()), amount(), amount());
    const log::LogSummary log = log::read_text(text);
    const Diagnosis diagnosis = diagnose(log, i % 3 == 0 ? &memory : nullptr, nullptr).diagnosis;
    EXPECT_LE(total_confidence(diagnosis), 1.0) << text;
    EXPECT_LE(diagnosis.candidates.size(), 8U);
    for (const Candidate& candidate : diagnosis.candidates) {
      EXPECT_GE(candidate.confidence, 0) << text;
      EXPECT_GT(candidate.bytes, 0) << text;
    }
    if (diagnosis.others_bytes) {
      EXPECT_GE(*diagnosis.others_bytes, 0) << text;
    }
  }
}

}  // namespace
}  // namespace snug::doctor::diagnosis
