// Failure messages from public reports, as they were pasted there.
#include <gtest/gtest.h>

#include "doctor/log/for_test.h"

namespace snug::doctor::log {
namespace {

constexpr std::string_view kOldAdvice =
    " If reserved memory is >> allocated memory try setting max_split_size_mb to avoid "
    "fragmentation.  "
    "See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF\n";

TEST(LogCase, NanoGpt88TwoNodes) {
  EXPECT_EQ(events_in(fmt::format("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to "
                                  "allocate 394.00 MiB (GPU 0; 15.78 GiB "
                                  "total capacity; 5.17 GiB already allocated; 8.68 GiB free; 5.25 "
                                  "GiB reserved in total by "
                                  "PyTorch){}",
                                  kOldAdvice)),
            "cuda out of memory; request 394.00 MiB; capacity 15.78 GiB; allocated 5.17 GiB; "
            "reserved 5.25 GiB; "
            "free 8.68 GiB; device 0");
}

TEST(LogCase, NanoGpt88CutInAWord) {
  const std::string_view text =
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.14 GiB (GPU 0; 15.78 "
      "GiB total "
      "capacity; 10.16 GiB already allocate";
  EXPECT_EQ(events_in(text),
            "cuda out of memory; request 6.14 GiB; capacity 15.78 GiB; allocated 10.16 GiB; device "
            "0; cut");
  EXPECT_EQ(read_text(text).events.at(0).wording, LogWording::kParenthesised);
}

TEST(LogCase, NanoGpt208) {
  EXPECT_EQ(events_in(fmt::format("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to "
                                  "allocate 100.00 MiB (GPU 0; 23.68 GiB "
                                  "total capacity; 21.67 GiB already allocated; 85.06 MiB free; "
                                  "21.92 GiB reserved in total by "
                                  "PyTorch){}",
                                  kOldAdvice)),
            "cuda out of memory; request 100.00 MiB; capacity 23.68 GiB; allocated 21.67 GiB; "
            "reserved 21.92 "
            "GiB; free 85.06 MiB; device 0");
}

TEST(LogCase, Nanochat443ShapeWins) {
  const LogSummary summary = read_text(
      "File \"/tmp/torchinductor_ubuntu/.../c45x....py\", line 5269, in call\n"
      "    buf706 = empty_strided_cuda((65536, 65536), (65536, 1), torch.bfloat16)\n"
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.00 GiB. \n"
      "GPU has 79.19 GiB total, 6.68 GiB free, 72.48 GiB in use by this process.\n");
  ASSERT_EQ(summary.events.size(), 1U);
  EXPECT_EQ(to_text(summary.events[0]),
            "cuda out of memory; request 8.00 GiB; capacity 79.19 GiB; free 6.68 GiB; in use 72.48 "
            "GiB; shape "
            "65536x65536 bfloat16; cut");
  EXPECT_EQ(byte_count_of(*summary.events[0].shape), 8 * kGiB);
  EXPECT_EQ(summary.events[0].shape->line, 2);
  ASSERT_EQ(summary.events[0].frames.size(), 1U);
  EXPECT_EQ(summary.events[0].frames[0].function, "call");
  EXPECT_EQ(summary.facts.shapes.size(), 1U);
}

TEST(LogCase, LlmC104) {
  EXPECT_EQ(events_in("[CUDA ERROR] at file train_gpt2.cu:693: out of memory"),
            "llm.c out of memory");
}

TEST(LogCase, Transformers3360) {
  EXPECT_EQ(events_in("RuntimeError: CUDA out of memory. Tried to allocate 786.00 MiB (GPU 0; "
                      "14.73 GiB total capacity; "
                      "13.33 GiB already allocated; 575.88 MiB free; 13.38 GiB reserved in total "
                      "by PyTorch)\n"),
            "cuda out of memory; request 786.00 MiB; capacity 14.73 GiB; allocated 13.33 GiB; "
            "reserved 13.38 GiB; "
            "free 575.88 MiB; device 0");
}

TEST(LogCase, Transformers1819And7396Cached) {
  EXPECT_EQ(events_in("RuntimeError: CUDA out of memory. Tried to allocate 198.00 MiB (GPU 0; 5.93 "
                      "GiB total capacity; "
                      "4.64 GiB already allocated; 54.94 MiB free; 233.05 MiB cached)"),
            "cuda out of memory; request 198.00 MiB; capacity 5.93 GiB; allocated 4.64 GiB; "
            "unallocated 233.05 "
            "MiB; free 54.94 MiB; device 0");
  EXPECT_EQ(events_in("RuntimeError: CUDA out of memory. Tried to allocate 384.00 MiB (GPU 0; "
                      "24.00 GiB total capacity; "
                      "22.01 GiB already allocated; 342.71 MiB free; 65.09 MiB cached)"),
            "cuda out of memory; request 384.00 MiB; capacity 24.00 GiB; allocated 22.01 GiB; "
            "unallocated 65.09 "
            "MiB; free 342.71 MiB; device 0");
}

TEST(LogCase, Gpt2Chinese215SecondMessageWithoutItsHead) {
  EXPECT_EQ(
      events_in(
          "RuntimeError: CUDA out of memory. Tried to allocate 384.00 MiB (GPU 0; 14.76 GiB total "
          "capacity; "
          "11.04 GiB already allocated; 259.75 MiB free; 11.10 GiB reserved in total by PyTorch)\n"
          "---\n"
          "(GPU 0; 15.75 GiB total capacity; 79.11 MiB already allocated; 3.62 MiB free; 86.00 MiB "
          "reserved in total by PyTorch)\n"),
      "cuda out of memory; request 384.00 MiB; capacity 14.76 GiB; allocated 11.04 GiB; reserved "
      "11.10 GiB; "
      "free 259.75 MiB; device 0\n"
      "cuda out of memory; capacity 15.75 GiB; allocated 79.11 MiB; reserved 86.00 MiB; free 3.62 "
      "MiB; "
      "device 0; cut");
}

TEST(LogCase, HelloLlm9) {
  EXPECT_EQ(
      events_in(
          "RuntimeError: CUDA out of memory. Tried to allocate 148.00 MiB (GPU 0; 2.00 GiB total "
          "capacity; "
          "959.93 MiB already allocated; 96.16 MiB free; 1.03 GiB reserved in total by PyTorch)"),
      "cuda out of memory; request 148.00 MiB; capacity 2.00 GiB; allocated 959.93 MiB; reserved "
      "1.03 GiB; "
      "free 96.16 MiB; device 0");
}

TEST(LogCase, Minimind48Capacty) {
  EXPECT_EQ(events_in("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 88.00 "
                      "MiB. GPU 0 has a total "
                      "capacty of 7.75 GiB of which 49.56 MiB is free. Including non-PyTorch "
                      "memory, this process has "
                      "7.43 GiB memory in use. Of the allocated memory 7.16 GiB is allocated by "
                      "PyTorch, and 4.62 MiB "
                      "is reserved by PyTorch but unallocated. If reserved but unallocated memory "
                      "is large try setting "
                      "max_split_size_mb to avoid fragmentation.\n"
                      "[2024-09-28 16:57:34,932] [ERROR] [launch.py:325:sigkill_handler] [...] "
                      "exits with return code "
                      "= 1\n"),
            "cuda out of memory; request 88.00 MiB; capacity 7.75 GiB; allocated 7.16 GiB; "
            "unallocated 4.62 MiB; "
            "free 49.56 MiB; in use 7.43 GiB; device 0");
}

TEST(LogCase, Minimind845WarningsAndCutMessage) {
  EXPECT_EQ(
      events_in("[W906 15:02:06.204334026 CUDACachingAllocator.cpp:3934] memory allocation failed "
                "with OOM on device 0 "
                "while trying to allocate 1000341504 bytes (free: 916848640, total: 25243287552).\n"
                "[W906 15:02:06.316616145 CUDACachingAllocator.cpp:3934] memory allocation failed "
                "with OOM on device 0 "
                "while trying to allocate 1000341504 bytes (free: 421920768, total: 25243287552).\n"
                "  File \".../torch/nn/functional.py\", line 2213, in softmax\n"
                "    ret = input.softmax(dim)\n"
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 954.00 MiB. GPU 0 "
                "has a total capacity "
                "of 23.51 GiB of which 402.38 MiB   [excerpt ends]\n"),
      "allocator warning; request 954.00 MiB; capacity 23.51 GiB; free 874.38 MiB; device 0\n"
      "allocator warning; request 954.00 MiB; capacity 23.51 GiB; free 402.38 MiB; device 0\n"
      "cuda out of memory; request 954.00 MiB; capacity 23.51 GiB; free 402.38 MiB; device 0; cut");
}

TEST(LogCase, LitGpt459WrappedBetweenWords) {
  const std::string_view text =
      "OutOfMemoryError: CUDA out of memory. Tried to allocate 86.00 MiB. GPU 0 has a total "
      "capacty of 23.69 GiB of "
      "which 83.94 MiB is free. Including \n"
      "non-PyTorch memory, this process has 23.57 GiB memory in use. Of the allocated memory 22.22 "
      "GiB is allocated "
      "by PyTorch, and 1.04 GiB is reserved by \n"
      "PyTorch but unallocated. If reserved but unallocated memory is large try setting "
      "max_split_size_mb\n";
  EXPECT_EQ(events_in(text),
            "cuda out of memory; request 86.00 MiB; capacity 23.69 GiB; allocated 22.22 GiB; "
            "unallocated 1.04 GiB; "
            "free 83.94 MiB; in use 23.57 GiB; device 0");
  EXPECT_NE(read_text(text).events.at(0).text.find("reserved by PyTorch but unallocated."),
            std::string::npos);
}

TEST(LogCase, PyTorch130112Mps) {
  EXPECT_EQ(
      events_in(
          "RuntimeError: MPS backend out of memory (MPS allocated: 5.50 GB, other allocations: "
          "14.76 GB, max "
          "allowed: 20.40 GB). Tried to allocate 147.24 MB on private pool. Use "
          "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations\n"),
      "mps out of memory; request 147.24 MiB; allocated 5.50 GiB; limit 20.40 GiB");
}

TEST(LogCase, Trl5207FourProcesses) {
  EXPECT_EQ(events_in("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 76.00 MiB. "
                      "GPU 0 has a total capacity "
                      "of 14.74 GiB of which 42.19 MiB is free. Process 21219 has 284.00 MiB "
                      "memory in use. Process "
                      "21222 has 3.40 GiB memory in use. Process 21213 has 258.00 MiB memory in "
                      "use. Process 21216 has "
                      "10.77 GiB memory in use. Of the allocated memory 10.59 GiB is allocated by "
                      "PyTorch, and 42.18 "
                      "MiB is reserved by PyTorch but unallocated.\n"),
            "cuda out of memory; request 76.00 MiB; capacity 14.74 GiB; allocated 10.59 GiB; "
            "unallocated 42.18 MiB; "
            "free 42.19 MiB; process 21219 284.00 MiB; process 21222 3.40 GiB; process 21213 "
            "258.00 MiB; process "
            "21216 10.77 GiB; device 0");
}

TEST(LogCase, Gpt2Chinese141) {
  EXPECT_EQ(events_in("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling "
                      "`cublasCreate(handle)`\n"),
            "cublas; detail CUBLAS_STATUS_ALLOC_FAILED");
}

TEST(LogCase, NanoGpt90ProseAndTheKernel) {
  EXPECT_EQ(
      events_in(
          "(no message quoted) \"my VM was out of memory when I ran prepare.py on the OpenWebText "
          "data\"\n"
          "Out of memory: Killed process 2481 (python3) total-vm:8123400kB, anon-rss:7981200kB, "
          "file-rss:0kB, oom_score_adj:0\n"),
      "unspecified out of memory\n"
      "killed by the kernel; in use 7.61 GiB");
}

TEST(LogCase, BitsAndBytes758ExactlyOneGiB) {
  EXPECT_EQ(events_in("OutOfMemoryError: CUDA out of memory. Tried to allocate 1024.00 MiB (GPU 0; "
                      "8.00 GiB total capacity; "
                      "12.19 GiB already\n"
                      "allocated; 0 bytes free; 12.68 GiB reserved in total by PyTorch) If "
                      "reserved memory is >> "
                      "allocated memory try setting\nmax_split_size_mb to avoid fragmentation.\n"),
            "cuda out of memory; request 1.00 GiB; capacity 8.00 GiB; allocated 12.19 GiB; "
            "reserved 12.68 GiB; free "
            "0 B; device 0");
}

TEST(LogCase, PyTorch16417TwoEras) {
  EXPECT_EQ(events_in("RuntimeError: CUDA out of memory. Tried to allocate 12.50 MiB (GPU 0; 10.92 "
                      "GiB total capacity; "
                      "8.57 MiB already allocated; 9.28 GiB free; 4.68 MiB cached)\n"
                      "---\n"
                      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 22.00 "
                      "MiB. GPU 0 has a total "
                      "capacity of 23.65 GiB of which 11.06 MiB is free. Including non-PyTorch "
                      "memory, this process has "
                      "23.60 GiB memory in use. Of the allocated memory 22.90 GiB is allocated by "
                      "PyTorch, and 194.87 "
                      "MiB is reserved by PyTorch but unallocated. If reserved but unallocated "
                      "memory is large\n"),
            "cuda out of memory; request 12.50 MiB; capacity 10.92 GiB; allocated 8.57 MiB; "
            "unallocated 4.68 MiB; "
            "free 9.28 GiB; device 0\n"
            "cuda out of memory; request 22.00 MiB; capacity 23.65 GiB; allocated 22.90 GiB; "
            "unallocated 194.87 MiB; "
            "free 11.06 MiB; in use 23.60 GiB; device 0");
}

}  // namespace
}  // namespace snug::doctor::log
