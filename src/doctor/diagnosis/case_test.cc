// Public reports with known answers, as minimal messages of the same form and figures.
#include <gtest/gtest.h>

#include "doctor/diagnosis/for_test.h"

namespace snug::doctor::diagnosis {
namespace {

constexpr torch::TorchPhase kNoPhase{255};

struct Case {
  std::string_view name;
  std::string log;
  std::string_view settings;  // empty: no config
  Cause cause;
  std::vector<std::int64_t> shape;  // stated tensor; empty: none is stated
  std::string_view dtype;
  double min_confidence;  // of all candidates of that shape and dtype together
  torch::TorchPhase phase = kNoPhase;
};

std::vector<Case> finetuning_cases() {
  return {
      {"01 two ranks",
       old_message("394.00 MiB", "15.78 GiB", "5.17 GiB", "8.68 GiB", "5.25 GiB"),
       "dtype=float16 batch_size=2 compile=False",
       Cause::kFreeExceedsRequest,
       {2 * 1024, 50304},
       "float32",
       0.8},
      {"02 first evaluation",
       "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.14 GiB (GPU 0; 15.78 "
       "GiB total capacity; 10.16 GiB already allocate\n",
       "batch_size=32 compile=False",
       Cause::kCapacity,
       {32 * 1024, 50304},
       "float32",
       0.9,
       torch::TorchPhase::kEvaluateFirst},
      {"04 states alone",
       old_message("100.00 MiB", "23.68 GiB", "21.67 GiB", "85.06 MiB", "21.92 GiB"),
       "init_from=gpt2-xl batch_size=1 gradient_accumulation_steps=32",
       Cause::kStatesExceedCard,
       {1, 25, 1024, 1024},
       "float32",
       0.6,
       torch::TorchPhase::kForward},
      {"19 embedding-sized",
       old_message("148.00 MiB", "2.00 GiB", "959.93 MiB", "96.16 MiB", "1.03 GiB", "RuntimeError"),
       "init_from=gpt2 block_size=1 dtype=float32 gradient_accumulation_steps=1",
       Cause::kStatesExceedCard,
       {50257, 768},
       "float32",
       0.9},
  };
}

std::vector<Case> other_trainers() {
  return {
      {"11 fp32 logits",
       old_message("786.00 MiB", "14.73 GiB", "13.33 GiB", "575.88 MiB", "13.38 GiB",
                   "RuntimeError"),
       "init_from=gpt2 batch_size=4 dtype=float32 compile=False",
       Cause::kCapacity,
       {4 * 1024, 50257},
       "float32",
       0.7},
      {"13 gradient of logits",
       "  File \"run_lm_finetuning.py\", line 229, in train\n    loss.backward()\n"
       "RuntimeError: CUDA out of memory. Tried to allocate 198.00 MiB (GPU 0; 5.93 GiB total "
       "capacity; 4.64 GiB already allocated; 54.94 MiB free; 233.05 MiB cached)\n",
       "init_from=gpt2 batch_size=1 dtype=float32 gradient_accumulation_steps=1024",
       Cause::kCapacity,
       {1024, 50257},
       "float32",
       0.7,
       torch::TorchPhase::kBackward},
      {"15 attention under WSL",
       "RuntimeError: CUDA out of memory. Tried to allocate 384.00 MiB (GPU 0; 24.00 GiB total "
       "capacity; 22.01 GiB already allocated; 342.71 MiB free; 65.09 MiB cached)\n",
       "init_from=gpt2 batch_size=8 dtype=float32",
       Cause::kCapacity,
       {8, 12, 1024, 1024},
       "float32",
       0.5},
      {"17 attention, no config",
       old_message("384.00 MiB", "14.76 GiB", "11.04 GiB", "259.75 MiB", "11.10 GiB",
                   "RuntimeError"),
       "",
       Cause::kCoTenant,
       {8, 12, 1024, 1024},
       "float32",
       0.15},
      {"20 hidden activation",
       new_message("88.00 MiB", "7.75 GiB", "49.56 MiB", own_use("7.43 GiB"), "7.16 GiB",
                   "4.62 MiB"),
       "",
       Cause::kCapacity,
       {64, 512, 1408},
       "bfloat16",
       0.15},
      {"25 weight, unpacked",
       new_message("86.00 MiB", "23.69 GiB", "83.94 MiB", own_use("23.57 GiB"), "22.22 GiB",
                   "1.04 GiB"),
       "",
       Cause::kFragmentation,
       {11008, 4096},
       "bfloat16",
       0.2},
      {"28 MPS",
       "RuntimeError: MPS backend out of memory (MPS allocated: 5.50 GB, other allocations: 14.76 "
       "GB, max allowed: 20.40 GB). Tried to allocate 147.24 MB on private pool.\n",
       "",
       Cause::kCapacity,
       {50257, 768},
       "float32",
       0.4},
  };
}

std::vector<Case> without_a_size() {
  return {
      {"06 shape in the log",
       "  File \"/tmp/torchinductor_u/c4.py\", line 5269, in call\n"
       "    buf706 = empty_strided_cuda((65536, 65536), (65536, 1), torch.bfloat16)\n"
       "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.00 GiB. \n",
       "",
       Cause::kCapacity,
       {65536, 65536},
       "bfloat16",
       0.95},
      {"09 llm.c",
       "[CUDA ERROR] at file train_gpt2.cu:693:\nout of memory\n",
       "",
       Cause::kCapacity,
       {},
       "",
       0},
      {"23 softmax",
       "[W906 15:02:06.2 CUDACachingAllocator.cpp:3934] memory allocation failed with OOM on "
       "device "
       "0 while trying to allocate 1000341504 bytes (free: 916848640, total: 25243287552).\n"
       "  File \"torch/nn/functional.py\", line 2213, in softmax\n    ret = input.softmax(dim)\n"
       "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 954.00 MiB. GPU 0 has a "
       "total "
       "capacity of 23.51 GiB of which 402.38 MiB\n",
       "",
       Cause::kCapacity,
       {},
       "",
       0,
       torch::TorchPhase::kForward},
      {"33 cuBLAS",
       "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`\n",
       "",
       Cause::kLibrary,
       {},
       "",
       0},
      {"35 host",
       "my VM was out of memory when I ran prepare.py\nOut of memory: Killed process 2481 "
       "(python3) total-vm:8123400kB, anon-rss:7981200kB, file-rss:0kB, oom_score_adj:0\n",
       "",
       Cause::kHostMemory,
       {},
       "",
       0},
      {"37 more than the card has",
       old_message("1024.00 MiB", "8.00 GiB", "12.19 GiB", "0 bytes", "12.68 GiB"),
       "",
       Cause::kCapacity,
       {},
       "",
       0},
      {"41a 128 KiB",
       "RuntimeError: CUDA out of memory. Tried to allocate 12.50 MiB (GPU 0; 10.92 GiB total "
       "capacity; 8.57 MiB already allocated; 9.28 GiB free; 4.68 MiB cached)\n",
       "",
       Cause::kFreeExceedsRequest,
       {},
       "",
       0},
      {"41b pieces, less than a hundredth of what is held",
       new_message("22.00 MiB", "23.65 GiB", "11.06 MiB", own_use("23.60 GiB"), "22.90 GiB",
                   "194.87 MiB"),
       "",
       Cause::kCapacity,
       {},
       "",
       0},
  };
}

void check(const Case& c) {
  SCOPED_TRACE(std::string(c.name));
  const Diagnosis diagnosis = diagnose_text(c.log, c.settings);
  EXPECT_EQ(name_of(diagnosis.cause), name_of(c.cause));
  EXPECT_LE(total_confidence(diagnosis), 1.0);
  EXPECT_LE(diagnosis.candidates.size(), 8U);
  if (c.phase != kNoPhase) {
    EXPECT_EQ(diagnosis.phase, c.phase) << to_text(diagnosis);
  }
  if (c.shape.empty()) return;
  ASSERT_FALSE(diagnosis.candidates.empty());
  EXPECT_EQ(diagnosis.candidates[0].shape, c.shape) << to_text(diagnosis);
  EXPECT_GE(confidence_of(diagnosis, c.shape, c.dtype), c.min_confidence) << to_text(diagnosis);
}

TEST(DiagnosisCase, Finetuning) {
  for (const Case& c : finetuning_cases()) check(c);
}

TEST(DiagnosisCase, OtherTrainers) {
  for (const Case& c : other_trainers()) check(c);
}

TEST(DiagnosisCase, WithoutASize) {
  for (const Case& c : without_a_size()) check(c);
}

TEST(DiagnosisCase, AnotherProcessHasItAll) {
  const Diagnosis diagnosis = diagnose_text(
      old_message("20.00 MiB", "15.75 GiB", "79.11 MiB", "3.62 MiB", "86.00 MiB"), "batch_size=8");
  EXPECT_EQ(diagnosis.cause, Cause::kCoTenant);
  EXPECT_GE(diagnosis.cause_confidence, 0.9);
}

TEST(DiagnosisCase, FourProcessesOnOneCard) {
  const Diagnosis diagnosis = diagnose_text(new_message(
      "76.00 MiB", "14.74 GiB", "42.19 MiB",
      "Process 21219 has 284.00 MiB memory in use. Process 21222 has 3.40 GiB memory in use. "
      "Process 21213 has 258.00 MiB memory in use. Process 21216 has 10.77 GiB memory in use.",
      "10.59 GiB", "42.18 MiB"));
  EXPECT_EQ(diagnosis.cause, Cause::kCoTenant);
  ASSERT_NE(find_note(diagnosis, NoteId::kSelfIsProcess), nullptr);
  EXPECT_EQ(find_note(diagnosis, NoteId::kSelfIsProcess)->arguments[0], "21216");
  EXPECT_EQ(find_note(diagnosis, NoteId::kIdleContexts)->arguments[0], "2");
  EXPECT_EQ(diagnosis.other_processes.size(), 3U);
  EXPECT_NEAR(static_cast<double>(*diagnosis.context_bytes), 0.14 * kGiB, 0.02 * kGiB);
  EXPECT_NEAR(static_cast<double>(*diagnosis.others_bytes), 3.93 * kGiB, 0.03 * kGiB);
}

}  // namespace
}  // namespace snug::doctor::diagnosis
