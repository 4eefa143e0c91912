// The rules and their order; which of several events counts; how confidence is shared.
#include <gtest/gtest.h>

#include <utility>

#include "doctor/diagnosis/evidence.h"
#include "doctor/diagnosis/for_test.h"

namespace snug::doctor::diagnosis {
namespace {

Cause cause_of(std::string_view log, std::string_view settings = "") {
  return diagnose_text(log, settings).cause;
}

TEST(DiagnosisRules, FreeBeforeFragmentation) {
  const auto message = [](std::string_view free, std::string_view unallocated) {
    return new_message("100.00 MiB", "23.65 GiB", free, own_use("14.00 GiB"), "13.00 GiB",
                       unallocated);
  };
  EXPECT_EQ(cause_of(message("9.60 GiB", "900.00 MiB")), Cause::kFreeExceedsRequest);
  EXPECT_EQ(cause_of(new_message("100.00 MiB", "23.65 GiB", "90.00 MiB", own_use("23.50 GiB"),
                                 "20.00 GiB", "3.20 GiB")),
            Cause::kFragmentation);
  EXPECT_EQ(cause_of(new_message("100.00 MiB", "23.65 GiB", "90.00 MiB", own_use("23.50 GiB"),
                                 "23.10 GiB", "60.00 MiB")),
            Cause::kCapacity);
}

TEST(DiagnosisRules, OthersCountWhenTheyHoldWhatIsMissing) {
  const auto message = [](std::string_view request, std::string_view in_use) {
    return new_message(request, "23.65 GiB", "100.00 MiB", own_use(in_use), "10.00 GiB",
                       "20.00 MiB");
  };
  EXPECT_EQ(cause_of(message("200.00 MiB", "10.40 GiB")), Cause::kCoTenant);
  // Even alone on the card it would not fit.
  EXPECT_EQ(cause_of(message("18.00 GiB", "10.40 GiB")), Cause::kCapacity);
  const Diagnosis alone = diagnose_text(new_message(
      "200.00 MiB", "23.65 GiB", "100.00 MiB", own_use("23.50 GiB"), "23.10 GiB", "20.00 MiB"));
  EXPECT_EQ(alone.cause, Cause::kCapacity);
  EXPECT_TRUE(alone.alone_on_card);
}

// Another process that holds most of the card is the cause also where a little more is free than
// was asked for.
TEST(DiagnosisRules, AListedProcessThatHoldsMostOfTheCardIsTheCause) {
  const auto message = [](std::string_view other, std::string_view free) {
    return new_message(
        "20.00 MiB", "23.69 GiB", free,
        fmt::format("Process 4242 has {} memory in use. {}", other, own_use("900.00 MiB")),
        "500.00 MiB", "10.00 MiB");
  };
  EXPECT_EQ(cause_of(message("22.50 GiB", "296.96 MiB")), Cause::kCoTenant);
  EXPECT_EQ(cause_of(message("3.00 GiB", "19.80 GiB")), Cause::kFreeExceedsRequest);
}

// A paste that ends early: what is missing is tried on the card, not taken for nothing.
TEST(DiagnosisRules, AMessageThatIsCutOffIsTriedOnTheCard) {
  const auto until = [](std::string_view message, std::string_view end) {
    return "  File \"train.py\", line 305, in <module>\n    scaler.scale(loss).backward()\n" +
           std::string(message.substr(0, message.find(end) + end.size()));
  };
  const std::string pieces = new_message("1.54 GiB", "11.76 GiB", "1.36 GiB", own_use("10.40 GiB"),
                                         "7.74 GiB", "2.43 GiB");
  const std::string beside = new_message("1.54 GiB", "23.69 GiB", "1.07 GiB", own_use("7.39 GiB"),
                                         "6.35 GiB", "746.03 MiB");
  constexpr std::string_view kRun = "batch_size=8 gradient_accumulation_steps=5 compile=False";
  for (const std::string_view end : {"by PyTorch, and", "memory in use.", "is free.", "11.76 GiB"})
    EXPECT_EQ(cause_of(until(pieces, end), kRun), Cause::kFragmentation) << end;
  for (const std::string_view end : {"by PyTorch, and", "memory in use.", "is free."}) {
    const Diagnosis diagnosis = diagnose_text(until(beside, end), kRun);
    EXPECT_EQ(diagnosis.cause, Cause::kCoTenant) << end;
    EXPECT_NEAR(double(diagnosis.others_bytes.value_or(0)) / kGiB, 15.2, 0.5) << end;
    EXPECT_LT(diagnosis.cause_confidence, 0.97) << end;
    EXPECT_EQ(diagnosis.context_bytes, std::nullopt) << end;
  }
  const std::string full = new_message("6.14 GiB", "11.69 GiB", "2.68 GiB", own_use("9.01 GiB"),
                                       "6.78 GiB", "31.42 MiB");
  EXPECT_EQ(cause_of(full.substr(0, full.find("is free.")), "batch_size=32 compile=False"),
            Cause::kCapacity);
  // No part of such a run asks for that much: the config is not the one that failed.
  const std::string other = "CUDA out of memory. Tried to allocate 777.00 MiB. GPU 0 has a total";
  EXPECT_EQ(cause_of(other + " capacity of 23.69 GiB of which 107.00 MiB is free.", kRun),
            Cause::kUnknown);
  // Without a config it is a guess.
  EXPECT_LE(diagnose_text(until(pieces, "is free.")).cause_confidence, 0.5);
}

// What three rounded figures leave over is nobody's.
TEST(DiagnosisRules, RoundingIsNoProcess) {
  const auto others = [](std::string_view in_use) {
    return *diagnose_text(new_message("6.14 GiB", "11.69 GiB", "2.68 GiB", own_use(in_use),
                                      "6.78 GiB", "31.42 MiB"))
                .others_bytes;
  };
  EXPECT_EQ(others("9.01 GiB"), 0);
  EXPECT_EQ(others("9.00 GiB"), 0);
  EXPECT_GT(others("8.95 GiB"), 50 * kMiB);
}

// The library's error follows from the assertion before it.
TEST(DiagnosisRules, AnAssertionOnTheCardIsNotMemory) {
  const std::string assertion =
      "../aten/src/ATen/native/cuda/Indexing.cu:1236: indexSelectSmallIndex: block: [18,0,0], "
      "thread: [31,0,0] Assertion `srcIndex < srcSelectDimSize` failed.\n";
  const std::string cublas =
      "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling "
      "`cublasCreate(handle)`\n";
  const std::string triggered = "RuntimeError: CUDA error: device-side assert triggered\n";
  EXPECT_EQ(cause_of(cublas), Cause::kLibrary);
  for (const std::string& log :
       {assertion + cublas, triggered, assertion + triggered, triggered + cublas,
        assertion + "RuntimeError: CUDA error: out of memory\n"}) {
    const Diagnosis diagnosis = diagnose_text(log);
    EXPECT_EQ(diagnosis.cause, Cause::kNotMemory) << log;
    EXPECT_NE(find_note(diagnosis, NoteId::kTokenBeyondVocabulary), nullptr) << log;
  }
}

TEST(DiagnosisRules, SamplingIsNoPhaseOfTraining) {
  const Diagnosis diagnosis = diagnose_text(fmt::format(
      "Traceback (most recent call last):\n"
      "  File \"sample.py\", line 86, in <module>\n"
      "    y = model.generate(x, max_new_tokens, temperature=temperature, top_k=top_k)\n"
      "  File \"model.py\", line 317, in generate\n    logits, _ = self(idx_cond)\n"
      "  File \"model.py\", line 182, in forward\n    x = block(x)\n{}",
      old_message("512.00 MiB", "7.79 GiB", "6.67 GiB", "85.06 MiB", "6.92 GiB")));
  EXPECT_NE(find_note(diagnosis, NoteId::kSampling), nullptr);
  EXPECT_EQ(diagnosis.phase, std::nullopt);
}

TEST(DiagnosisRules, WhatNeedsMoreThanTheCardIsCapacityWhoeverElseIsThere) {
  const std::string log = new_message("3.07 GiB", "14.74 GiB", "0.90 GiB", own_use("10.80 GiB"),
                                      "10.40 GiB", "20.00 MiB");
  EXPECT_EQ(cause_of(log), Cause::kCoTenant);
  EXPECT_EQ(cause_of(log, "batch_size=32 compile=False"), Cause::kCapacity);
  EXPECT_EQ(cause_of(log, "batch_size=4 compile=False"), Cause::kCoTenant);
}

TEST(DiagnosisRules, WindowsIsNotAnotherProcess) {
  const Diagnosis diagnosis =
      diagnose_text(old_message("1024.00 MiB", "8.00 GiB", "12.19 GiB", "0 bytes", "12.68 GiB"));
  EXPECT_EQ(diagnosis.cause, Cause::kCapacity);
  ASSERT_NE(find_note(diagnosis, NoteId::kAllocatedOverCapacity), nullptr);
  EXPECT_EQ(find_note(diagnosis, NoteId::kAllocatedOverCapacity)->arguments,
            (std::vector<std::string>{"12.19 GiB", "8.00 GiB"}));
}

TEST(DiagnosisRules, TheAllocatorsSettingIsOneThatExists) {
  const auto advice = [](std::string_view file, std::string_view message) {
    return diagnose_text(
               fmt::format("Traceback (most recent call last):\n  File \"{}\", line 305, in "
                           "<module>\n    scaler.scale(loss).backward()\n{}",
                           file, message))
        .allocator_advice;
  };
  const std::string message = new_message("1.54 GiB", "11.76 GiB", "261.00 MiB",
                                          own_use("11.50 GiB"), "7.74 GiB", "2.43 GiB");
  const std::string old =
      old_message("1.54 GiB", "11.76 GiB", "7.74 GiB", "261.00 MiB", "10.17 GiB");
  const std::string nameless =
      new_message("1.54 GiB", "11.76 GiB", "261.00 MiB",
                  "Process 7 has 17179869183.98 GiB memory in use.", "7.74 GiB", "2.43 GiB");
  EXPECT_EQ(advice("/home/u/nanoGPT/train.py", message), AllocatorAdvice::kExpandable);
  EXPECT_EQ(advice("/home/u/nanoGPT/train.py", old), AllocatorAdvice::kMaxSplit);
  EXPECT_EQ(advice("C:\\Users\\u\\nanoGPT\\train.py", message), AllocatorAdvice::kMaxSplitWindows);
  EXPECT_EQ(advice("D:/nanoGPT/train.py", old), AllocatorAdvice::kMaxSplitWindows);
  // WSL2: Windows' driver, Linux' PyTorch.
  EXPECT_EQ(advice("/mnt/c/nanoGPT/train.py", nameless), AllocatorAdvice::kExpandable);
  EXPECT_EQ(advice("train.py", nameless), AllocatorAdvice::kMaxSplitWindows);
}

TEST(DiagnosisRules, ALimitAndRanksAreSaid) {
  const std::string limited = fmt::format(
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total "
      "capacity of 23.65 GiB of which 15.00 GiB is free. {} 8.00 GiB allowed; Of the allocated "
      "memory 7.50 GiB is allocated by PyTorch, and 20.00 MiB is reserved by PyTorch but "
      "unallocated.\n",
      own_use("8.00 GiB"));
  const Diagnosis diagnosis = diagnose_text(limited);
  EXPECT_EQ(diagnosis.cause, Cause::kFreeExceedsRequest);
  ASSERT_NE(find_note(diagnosis, NoteId::kLimitSet), nullptr);
  EXPECT_EQ(find_note(diagnosis, NoteId::kTwoRanksOneCard), nullptr);
  const Diagnosis ranks = diagnose_text(
      fmt::format("torchrun --nproc_per_node=2 train.py\n{}",
                  old_message("394.00 MiB", "15.78 GiB", "5.17 GiB", "8.68 GiB", "5.25 GiB")));
  EXPECT_NE(find_note(ranks, NoteId::kTwoRanksOneCard), nullptr);
}

TEST(DiagnosisRules, TheFirstFatalEventCounts) {
  const std::string oom =
      old_message("100.00 MiB", "23.68 GiB", "21.67 GiB", "85.06 MiB", "21.92 GiB");
  const std::string killed = "Out of memory: Killed process 1 (python3) anon-rss:7981200kB\n";
  const std::string other = "KeyError: 'x'\n";
  const std::string warning =
      "[W906 15:02:06.2 CUDACachingAllocator.cpp:3934] memory allocation failed with OOM on device "
      "0 while trying to allocate 1000341504 bytes (free: 916848640, total: 25243287552).\n";
  EXPECT_EQ(diagnose_text(fmt::format("{}{}{}", killed, oom, other)).request_bytes, 100 * kMiB);
  EXPECT_EQ(cause_of(fmt::format("{}{}", other, killed)), Cause::kHostMemory);
  EXPECT_EQ(cause_of(other), Cause::kNotMemory);
  EXPECT_EQ(cause_of(warning), Cause::kUnknown);
  EXPECT_NE(find_note(diagnose_text(warning), NoteId::kOnlyAWarning), nullptr);
  EXPECT_EQ(cause_of("iter 5: loss 3.1, time 10ms, mfu 1.00%\n"), Cause::kUnknown);
  const Diagnosis corrupt = diagnose_text(fmt::format(
      "RuntimeError: CUDA out of memory. Tried to allocate more than 1EB memory.\n{}", oom));
  EXPECT_EQ(corrupt.request_bytes, 100 * kMiB);
  EXPECT_EQ(find_note(corrupt, NoteId::kCorruptSize), nullptr);
}

TEST(DiagnosisRules, NotMemorySaysWhat) {
  EXPECT_EQ(cause_of("OSError: [Errno 28] No space left on device\n"), Cause::kNotMemory);
  const Diagnosis triton = diagnose_text(
      "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 180224, "
      "Hardware limit: 101376. Reducing block sizes or `num_stages` may help.\n");
  EXPECT_EQ(triton.cause, Cause::kNotMemory);
  ASSERT_NE(find_note(triton, NoteId::kSharedMemoryOfChip), nullptr);
  EXPECT_EQ(find_note(triton, NoteId::kSharedMemoryOfChip)->arguments,
            (std::vector<std::string>{"176.00 KiB", "99.00 KiB"}));
  const Diagnosis host = diagnose_text(
      "RuntimeError: [enforce fail at alloc_cpu.cpp:75] DefaultCPUAllocator: can't allocate "
      "memory: "
      "you tried to allocate 2147483648 bytes. Error code 12\n");
  EXPECT_EQ(host.cause, Cause::kHostMemory);
  EXPECT_EQ(find_note(host, NoteId::kHostAllocator)->arguments[0], "2.00 GiB");
  EXPECT_EQ(cause_of("RuntimeError: CUDA error: out of memory\n"), Cause::kDriver);
}

// The allocator's warning has the bytes that "6.14 GiB" hides.
TEST(DiagnosisRules, WarningsSharpenTheRequest) {
  const std::string message = new_message("6.14 GiB", "11.69 GiB", "2.68 GiB", own_use("7.04 GiB"),
                                          "6.78 GiB", "24.90 MiB");
  const log::LogSummary vague = log::read_text(message);
  const log::LogSummary sharp = log::read_text(fmt::format(
      "[W906 15:02:06.2 CUDACachingAllocator.cpp:3934] memory allocation failed with OOM on device "
      "0 while trying to allocate 6593445888 bytes (free: 2877292544, total: 12552044544).\n{}",
      message));
  const auto width = [](const log::LogSummary& log) {
    const log::LogAmount range = *evidence_of(log, *decisive_event(log), nullptr).request;
    EXPECT_TRUE(range.covers(std::int64_t{64} * 1024 * 50304 * 2));
    return range.high_bytes - range.low_bytes;
  };
  EXPECT_LE(width(sharp), 2 * kMiB);
  EXPECT_GT(width(vague), 8 * kMiB);
}

TEST(DiagnosisRules, AlikeTensorsShare) {
  // No amount to tell the moments apart: all half-precision tensors of the loss are possible.
  const Diagnosis diagnosis =
      diagnose_text("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.15 GiB.\n",
                    "batch_size=12 compile=False");
  ASSERT_GE(diagnosis.candidates.size(), 3U);
  EXPECT_LT(diagnosis.candidates[0].confidence, 0.4);
  EXPECT_LE(total_confidence(diagnosis), 1.0);
  EXPECT_NE(find_note(diagnosis, NoteId::kAmbiguous), nullptr);
  // The traceback halves the list and more.
  const Diagnosis framed = diagnose_text(
      "  File \"train.py\", line 300, in <module>\n    scaler.scale(loss).backward()\n"
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.15 GiB.\n",
      "batch_size=12 compile=False");
  EXPECT_EQ(framed.phase, torch::TorchPhase::kBackward);
  EXPECT_EQ(framed.candidates[0].evidence, Evidence::kSizeAndFrame);
  EXPECT_GT(framed.candidates[0].confidence, diagnosis.candidates[0].confidence);
}

// Tensors of the modelled run that reach a new peak, reported as PyTorch would, are found again.
TEST(DiagnosisRules, FindsWhatTheModelAllocates) {
  const std::string_view settings = "batch_size=12 compile=False";
  const torch::TorchMemory memory = memory_of(settings);
  int tried = 0;
  std::int64_t highest = 0;
  for (const torch::TorchTensor& tensor : memory.tensors) {
    const std::int64_t after = tensor.allocated_before_bytes + tensor.bytes;
    if (after <= std::exchange(highest, std::max(highest, after))) continue;
    if (tensor.bytes < 30 * kMiB || ++tried % 3 != 0) continue;
    const auto gib = [](std::int64_t bytes) {
      return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / kGiB);
    };
    const std::int64_t segment = (tensor.bytes + 2 * kMiB - 1) / (2 * kMiB) * 2 * kMiB;
    const std::int64_t before = tensor.allocated_before_bytes;
    const std::string log =
        new_message(segment > kGiB ? gib(segment) : fmt::format("{}.00 MiB", segment / kMiB),
                    "79.00 GiB", "16.00 MiB", own_use("78.90 GiB"), gib(before), "12.00 MiB");
    const Diagnosis diagnosis = diagnose_text(log, settings);
    const auto found = std::find_if(
        diagnosis.candidates.begin(), diagnosis.candidates.end(), [&](const Candidate& c) {
          return c.bytes == tensor.bytes && c.phase == tensor.phase && c.op == tensor.op;
        });
    EXPECT_NE(found, diagnosis.candidates.end()) << tensor.what << " " << tensor.op << "\n"
                                                 << to_text(diagnosis);
  }
  EXPECT_GT(tried, 20);
}

}  // namespace
}  // namespace snug::doctor::diagnosis
