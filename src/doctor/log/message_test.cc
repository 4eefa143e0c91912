// One case for each wording that was ever printed.
#include <gtest/gtest.h>

#include "doctor/log/for_test.h"

namespace snug::doctor::log {
namespace {

TEST(LogMessage, BeforePyTorch10) {
  EXPECT_EQ(
      events_in(
          "THCudaCheck FAIL file=/pytorch/aten/src/THC/generic/THCStorage.cu line=58 error=2 : "
          "out of memory\n"),
      "driver out of memory");
  EXPECT_EQ(
      events_in("RuntimeError: cuda runtime error (2) : out of memory at /b/THCStorage.cu:58\n"),
      "driver out of memory");
  EXPECT_EQ(
      events_in("RuntimeError: cuda runtime error (59) : device-side assert triggered at x.cu:1\n"),
      "device assert");
}

TEST(LogMessage, Bitsandbytes) {
  EXPECT_EQ(events_in("Error out of memory at line 380 in file "
                      "/mmfs1/gscratch/zlab/bitsandbytes/csrc/pythonInterface.c\n"),
            "driver out of memory\nbitsandbytes; detail csrc");
  EXPECT_EQ(
      events_in("Error invalid device ordinal at line 359 in file /b/csrc/pythonInterface.c\n"),
      "bitsandbytes; detail csrc");
  EXPECT_EQ(events_in("RuntimeError: \n        CUDA Setup failed despite GPU being available. "
                      "Please run the following command to get more information:\n"),
            "bitsandbytes");
  EXPECT_EQ(events_in("CUDA SETUP: CUDA runtime path found: /usr/local/cuda/lib64/libcudart.so\n"),
            "");
}

TEST(LogMessage, OfLlamaCpp) {
  EXPECT_EQ(events_in("CUDA error 2 at ggml-cuda.cu:359: out of memory\n"), "driver out of memory");
}

TEST(LogMessage, CachedOf10To13) {
  const std::string_view text =
      "RuntimeError: CUDA out of memory. Tried to allocate 25.00 MiB (GPU 3; 3.94 GiB total "
      "capacity; 3.14 GiB "
      "already allocated; 21.56 MiB free; 634.00 KiB cached)\n";
  EXPECT_EQ(events_in(text),
            "cuda out of memory; request 25.00 MiB; capacity 3.94 GiB; allocated 3.14 GiB; "
            "unallocated 634.00 "
            "KiB; free 21.56 MiB; device 3");
  EXPECT_EQ(read_text(text).events.at(0).wording, LogWording::kCached);
}

TEST(LogMessage, ReservedOf14To20) {
  const std::string_view text =
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 10.73 GiB (GPU 0; 8.00 "
      "GiB total "
      "capacity; 17.20 GiB already allocated; 0 bytes free; 7.50 GiB allowed; 19.15 GiB reserved "
      "in total by "
      "PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid "
      "fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF\n";
  EXPECT_EQ(events_in(text),
            "cuda out of memory; request 10.73 GiB; capacity 8.00 GiB; allocated 17.20 GiB; "
            "reserved 19.15 GiB; "
            "free 0 B; limit 7.50 GiB; device 0");
  const LogEvent event = read_text(text).events.at(0);
  EXPECT_EQ(event.wording, LogWording::kReserved);
  EXPECT_EQ(event.exception, "torch.cuda.OutOfMemoryError");
  EXPECT_TRUE(event.text.ends_with("19.15 GiB reserved in total by PyTorch)")) << event.text;
}

TEST(LogMessage, UnallocatedOf21OnWithProcessesAndPools) {
  const std::string_view text =
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total "
      "capacity of "
      "39.39 GiB of which 512.00 MiB is free. Process 41 has 3.40 GiB memory in use. Including "
      "non-PyTorch "
      "memory, this process has 33.44 GiB memory in use. Process 7 has 17179869184.00 GiB memory "
      "in use. 35.00 "
      "GiB allowed; Of the allocated memory 32.50 GiB is allocated by PyTorch, with 1.00 GiB "
      "allocated in "
      "private pools (e.g., CUDA Graphs), and 400.00 MiB is reserved by PyTorch but unallocated. "
      "If reserved "
      "but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to "
      "avoid "
      "fragmentation.\n";
  EXPECT_EQ(events_in(text),
            "cuda out of memory; request 2.00 GiB; capacity 39.39 GiB; allocated 32.50 GiB; "
            "unallocated 400.00 "
            "MiB; free 512.00 MiB; limit 35.00 GiB; in use 33.44 GiB; process 41 "
            "3.40 GiB; "
            "process 7 ?; device 1");
  const LogSummary summary = read_text(text);
  EXPECT_EQ(summary.events.at(0).wording, LogWording::kUnallocated);
  // The advice in the message is no setting of the run.
  EXPECT_TRUE(summary.facts.settings.empty());
}

TEST(LogMessage, OtherDevices) {
  EXPECT_EQ(
      events_in(
          "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a "
          "total "
          "capacity of 15.98 GiB of which 2.00 MiB is free. Of the allocated memory 15.50 GiB is "
          "allocated by PyTorch, and 1.00 KiB is reserved by PyTorch but unallocated.\n"),
      "hip out of memory; request 2.00 MiB; capacity 15.98 GiB; allocated 15.50 GiB; unallocated "
      "1.00 "
      "KiB; free 2.00 MiB; device 0");
  EXPECT_EQ(
      events_in(
          "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 4.66 GiB. GPU 0 has a "
          "total "
          "capacity of 5.65 GiB. Of the allocated memory 195.50 KiB is allocated by PyTorch, and "
          "1.81 "
          "MiB is reserved by PyTorch but unallocated. Please use `empty_cache` to release all "
          "unoccupied cached memory.\n"),
      "xpu out of memory; request 4.66 GiB; capacity 5.65 GiB; allocated 195.50 KiB; unallocated "
      "1.81 "
      "MiB; device 0");
  EXPECT_EQ(
      events_in(
          "RuntimeError: NPU out of memory. Tried to allocate 22.00 MiB (NPU 5; 60.97 GiB total "
          "capacity; 10.24 GiB already allocated; 10.24 GiB current active; 19.52 MiB free; 10.65 "
          "GiB "
          "reserved in total by PyTorch).If reserved memory is >> allocated memory\n"),
      "vendor out of memory; request 22.00 MiB; capacity 60.97 GiB; allocated 10.24 GiB; reserved "
      "10.65 "
      "GiB; free 19.52 MiB; device 5");
  EXPECT_EQ(
      events_in("RuntimeError: MPS backend out of memory (MPS allocated: 17.92 GiB, other "
                "allocations: 1.10 "
                "MiB, max allowed: 18.13 GiB). Tried to allocate 256.00 MiB on shared pool.\n"),
      "mps out of memory; request 256.00 MiB; allocated 17.92 GiB; limit 18.13 GiB");
  EXPECT_EQ(events_in("RuntimeError: Invalid buffer size: 20.00 GB\n"),
            "mps out of memory; request 20.00 GiB");
}

TEST(LogMessage, MallocAsyncTable) {
  const std::string_view text =
      "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of "
      "memory)\n"
      "Currently allocated     : 10.48 GiB\n"
      "Requested               : 21.81 GiB\n"
      "Device limit            : 15.93 GiB\n"
      "Free (according to CUDA): 0 bytes\n"
      "PyTorch limit (set by user-supplied memory fraction)\n"
      "                        : 17179869184.00 GiB\n\n"
      "Memory summary: |=====|\n| Allocated memory      |  10471 MiB |  11303 MiB |\n";
  EXPECT_EQ(events_in(text),
            "cuda out of memory; request 21.81 GiB; capacity 15.93 GiB; allocated 10.48 GiB; free "
            "0 B; device 0");
  EXPECT_EQ(read_text(text).events.at(0).wording, LogWording::kMallocAsync);
}

TEST(LogMessage, AllocatorWarningIsByteExactAndApart) {
  const std::string line =
      "[W906 15:02:06.2 CUDACachingAllocator.cpp:3934] memory allocation failed with OOM on device "
      "2 while "
      "trying to allocate 1000341504 bytes (free: 916848640, total: 25243287552).\n";
  const LogSummary summary = read_text(line + line);
  ASSERT_EQ(summary.events.size(), 2U);
  EXPECT_EQ(summary.events[1].kind, LogEventKind::kAllocatorWarning);
  EXPECT_EQ(summary.events[1].request, (LogAmount{1000341504, 1000341504}));
  EXPECT_EQ(summary.events[1].free, (LogAmount{916848640, 916848640}));
  EXPECT_EQ(summary.events[1].capacity, (LogAmount{25243287552, 25243287552}));
  EXPECT_EQ(summary.events[1].device, 2);
  EXPECT_EQ(summary.events[1].line, 2);
}

TEST(LogMessage, DriverAndLibraries) {
  EXPECT_EQ(
      events_in(
          "RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be asynchronously "
          "reported at some other API call.\n"),
      "driver out of memory");
  EXPECT_EQ(events_in("torch.AcceleratorError: CUDA error: out of memory\nSearch for "
                      "`cudaErrorMemoryAllocation' in "
                      "https://docs.nvidia.com/ for more information.\n"),
            "driver out of memory");
  EXPECT_EQ(events_in("RuntimeError: CUDA driver error: out of memory\n"), "driver out of memory");
  EXPECT_EQ(
      events_in("RuntimeError: !handles_.at(i) INTERNAL ASSERT FAILED at "
                "\"../c10/cuda/CUDACachingAllocator.cpp\":317, please report a bug to PyTorch.\n"),
      "driver out of memory");
  EXPECT_EQ(events_in("RuntimeError: x INTERNAL ASSERT FAILED at \"../torch/csrc/jit/ir.cpp\":31, "
                      "please report\n"),
            "other error");
  EXPECT_EQ(events_in("RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED\n"),
            "cudnn; detail CUDNN_STATUS_ALLOC_FAILED");
  EXPECT_EQ(events_in("RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling "
                      "`cublasCreate(handle)`\n"),
            "cublas; detail CUBLAS_STATUS_NOT_INITIALIZED");
  EXPECT_EQ(
      events_in("n0:30:31 [3] include/alloc.h:178 NCCL WARN Cuda failure 2 'out of memory'\n\n"
                "n0:30:31 [3] include/alloc.h:185 NCCL WARN Failed to CUDA calloc 6291456 bytes\n"),
      "nccl out of memory; request 6.00 MiB");
  EXPECT_EQ(events_in("n0:30:31 [3] enqueue.cc:54 NCCL WARN Cuda failure 'invalid argument'\n"),
            "");
}

TEST(LogMessage, OtherFrameworks) {
  EXPECT_EQ(events_in("[CUDA ERROR] at file llmc/cuda_common.h:54:\nout of memory\n"),
            "llm.c out of memory");
  EXPECT_EQ(events_in("[CUDA ERROR] at file llmc/cuda_common.h:54:\ninvalid argument\n"), "");
  EXPECT_EQ(events_in("ResourceExhaustedError: OOM when allocating tensor with "
                      "shape[1,12,1024,1024] and type float "
                      "on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"),
            "tensorflow out of memory; device 0; shape 1x12x1024x1024 float32");
  EXPECT_EQ(events_in("Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB (rounded "
                      "to 2147483648)\n"),
            "tensorflow out of memory; request 2.00 GiB");
  EXPECT_EQ(
      events_in(
          "failed to allocate 3.95G (4240965632 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY\n"),
      "driver out of memory; request 3.95 GiB");
  EXPECT_EQ(events_in("XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate "
                      "4294967296 bytes.\n"),
            "tensorflow out of memory; request 4.00 GiB");
}

TEST(LogMessage, HostMemory) {
  EXPECT_EQ(events_in("RuntimeError: [enforce fail at alloc_cpu.cpp:83] err == 0. "
                      "DefaultCPUAllocator: can't allocate "
                      "memory: you tried to allocate 30720000000 bytes. Error code 12 (Cannot "
                      "allocate memory)\n"),
            "host allocator; request 28.61 GiB");
  EXPECT_EQ(
      events_in(
          "RuntimeError: $ Torch: not enough memory: you tried to allocate 72GB. Buy new RAM!\n"),
      "host allocator; request 72.00 GiB");
  EXPECT_EQ(events_in("numpy.core._exceptions._ArrayMemoryError: Unable to allocate 5.96 GiB for "
                      "an array with shape "
                      "(800000000,) and data type float64\n"),
            "host allocator; request 5.96 GiB; shape 800000000 float64");
  EXPECT_EQ(events_in("MemoryError\n"), "host allocator");
  EXPECT_EQ(
      events_in(
          "[ 12.3] Memory cgroup out of memory: Killed process 2481 (python3) total-vm:8123400kB, "
          "anon-rss:7981200kB, file-rss:0kB\n"),
      "killed by the kernel; in use 7.61 GiB");
  EXPECT_EQ(events_in("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1.0\n"),
            "killed by the kernel");
  for (const char* text :
       {"Killed\n", "zsh: killed     python train.py\n",
        "run.sh: line 12: 12345 Killed                  python train.py\n",
        "Command terminated with exit code 137\n",
        "failed (exitcode: -9) local_rank: 1 (pid: 1168)\n",
        "Error: Signal 9 (SIGKILL) received by PID 12\n", "died with <Signals.SIGKILL: 9>.\n",
        "RuntimeError: DataLoader worker (pid 3881) is killed by signal: Killed.\n"}) {
    EXPECT_EQ(events_in(text), "exit 137") << text;
  }
}

TEST(LogMessage, NotMemoryOfTheCard) {
  EXPECT_EQ(events_in("triton.runtime.errors.OutOfResources: out of resource: shared memory, "
                      "Required: 180224, Hardware "
                      "limit: 101376. Reducing block sizes or `num_stages` may help.\n"),
            "triton resources; request 176.00 KiB; limit 99.00 KiB");
  EXPECT_EQ(events_in("OSError: [Errno 28] No space left on device\n"), "disk full");
  EXPECT_EQ(events_in("This might be caused by insufficient shared memory (shm).\n"),
            "shared memory");
  EXPECT_EQ(events_in("KeyError: 'n_layer'\n"), "other error");
  EXPECT_EQ(events_in("AssertionError\n"), "other error");
  for (const char* text :
       {"exit code 1370\n", "He was Killed by a bear\n",
        "sigkill_handler exits with return code = 1\n", "all is well\n",
        "RuntimeError: Caught RuntimeError in replica 0 on device 0.\n",
        "failed (exitcode: 1) local_rank: 0\n",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n"}) {
    EXPECT_EQ(events_in(text), "") << text;
  }
  EXPECT_EQ(memory_of(LogEventKind::kCudaOutOfMemory), LogMemory::kCard);
  EXPECT_EQ(memory_of(LogEventKind::kLlmC), LogMemory::kCard);
  EXPECT_EQ(memory_of(LogEventKind::kUnspecifiedOutOfMemory), LogMemory::kUnknown);
  EXPECT_EQ(memory_of(LogEventKind::kExit137), LogMemory::kHost);
  EXPECT_EQ(memory_of(LogEventKind::kTritonResources), LogMemory::kNeither);
}

TEST(LogMessage, BrokenSizeIsMarked) {
  EXPECT_EQ(events_in("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate more "
                      "than 1EB memory.\n"),
            "cuda out of memory; corrupt");
}

TEST(LogMessage, SourceThatQuotesAMessageIsNone) {
  EXPECT_EQ(events_in("Traceback (most recent call last):\n"
                      "  File \"autocast_mode.py\", line 234, in __init__\n"
                      "    raise RuntimeError('Current CUDA Device does not support bfloat16.')\n"
                      "  File \"train.py\", line 3, in step\n"
                      "    if 'out of memory' in str(e): raise torch.cuda.OutOfMemoryError('CUDA "
                      "out of memory')\n"
                      "KeyError: 'x'\n"),
            "other error");
}

}  // namespace
}  // namespace snug::doctor::log
