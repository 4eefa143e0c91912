// Whatever the bytes, a summary within its limits. Run under the sanitizers for what it is worth
// most.
#include <gtest/gtest.h>

#include "base/philox.h"
#include "doctor/log/for_test.h"

namespace snug::doctor::log {
namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  std::size_t below(std::size_t bound) {
    const PhiloxBlock words = philox(seed_, {count_++, 0, 0, 0});
    return static_cast<std::size_t>(uniform_below(words[0], words[1], bound));
  }

 private:
  std::uint64_t seed_;
  std::uint32_t count_ = 0;
};

constexpr std::string_view kFragments[] = {
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 76.00 MiB. GPU 0 has a total "
    "capacity of ",
    "14.74 GiB of which 42.19 MiB is free. Process 21219 has 284.00 MiB memory in use. ",
    "Of the allocated memory 10.59 GiB is allocated by PyTorch, and 42.18 MiB is reserved by "
    "PyTorch but ",
    "(GPU 0; 15.75 GiB total capacity; 79.11 MiB already allocated; 3.62 MiB free; 86.00 MiB "
    "reserved in total",
    "Traceback (most recent call last):\n  File \"train.py\", line 264, in <module>\n    "
    "loss.backward()\n",
    "buf706 = empty_strided_cuda((65536, 65536), (65536, 1), torch.bfloat16)\n",
    "[rank3]: ",
    "│ ❱ 339 │ ",
    "> ",
    "\n",
    "\r",
    "\n\n",
    "\x1B[31m",
    "\x1B]",
    "--> 12 ",
    "2024-05-01T12:00:00Z ",
    "Overriding config with config/x.py:\nbatch_size = 12 # x\n",
    "Overriding: n_layer = ",
    "python train.py --batch_size=",
    "iter 10: loss 2.4, ",
    "step 0: train loss ",
    "number of parameters: 123.59M\n",
    "Killed\n",
    "RuntimeError: ",
    "|   0  Tesla K80           On   | 00000000:04:00.0 Off |\n",
    "| N/A | 1MiB / 11439MiB |\n",
    "NVIDIA GeForce RTX ",
    "`torch.cuda.amp.GradScaler(args...)` is deprecated",
    "PyTorch version: ",
    "17179869184.00 GiB",
    "99999999999999999999",
    "OOM when allocating tensor with shape[1,",
    "PYTORCH_CUDA_ALLOC_CONF=",
    "{\"log\":\"",
    "batch_size=",
    "MemoryError",
    "Cell In[",
    "more than 1EB",
    "Killed process ",
    ".",
    ",",
    "\"",
    "(",
    "|",
    " ",
    "12"};

std::string noise(Dice& dice, std::size_t length) {
  std::string bytes;
  while (bytes.size() < length) {
    if (dice.below(3) == 0) {
      for (std::size_t i = dice.below(12); i > 0; --i) bytes += static_cast<char>(dice.below(256));
      continue;
    }
    const std::string_view piece = kFragments[dice.below(std::size(kFragments))];
    const std::size_t begin = dice.below(4) == 0 ? dice.below(piece.size()) : 0;
    bytes += piece.substr(begin, dice.below(4) == 0 ? dice.below(piece.size()) : piece.size());
  }
  return bytes;
}

void check(const LogSummary& summary, std::size_t length) {
  EXPECT_EQ(summary.byte_count, static_cast<std::int64_t>(length));
  std::int64_t last_line = 0;
  for (const LogEvent& event : summary.events) {
    EXPECT_GE(event.line, last_line);
    last_line = event.line;
    EXPECT_LE(event.line, summary.line_count);
    EXPECT_LE(event.text.size(), 2000U);
    EXPECT_EQ(event.text.find('\n'), std::string::npos);
    for (const std::optional<LogAmount>& amount :
         {event.request, request_range(event), unallocated_range(event)}) {
      if (!amount) continue;
      EXPECT_LE(0, amount->low_bytes);
      EXPECT_LE(amount->low_bytes, amount->high_bytes);
    }
    if (event.shape) byte_count_of(*event.shape);
    to_text(event);
  }
}

TEST(LogFuzz, PiecesOfLogsInAnyOrder) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    Dice dice(seed);
    const std::string bytes = noise(dice, 200 + dice.below(4000));
    check(read_text(bytes), bytes.size());
  }
}

TEST(LogFuzz, AnyBytes) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Dice dice(seed);
    std::string bytes;
    for (std::size_t i = dice.below(40000); i > 0; --i) bytes += static_cast<char>(dice.below(256));
    check(read_text(bytes), bytes.size());
  }
}

TEST(LogFuzz, ANullStreamIsEmpty) {
  std::istream stream(nullptr);
  EXPECT_EQ(read_log(stream).line_count, 0);
}

}  // namespace
}  // namespace snug::doctor::log
