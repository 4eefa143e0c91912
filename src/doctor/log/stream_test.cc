// Logs of any length in bounded memory.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <functional>

#include "doctor/log/for_test.h"

namespace snug::doctor::log {
namespace {

// Bytes made on demand: `make` gives the n-th piece, an empty one ends the stream.
class GeneratedBytes : public std::streambuf {
 public:
  explicit GeneratedBytes(std::function<std::string(std::int64_t)> make) : make_(std::move(make)) {}

 protected:
  int_type underflow() override {
    piece_ = make_(index_++);
    if (piece_.empty()) return traits_type::eof();
    setg(piece_.data(), piece_.data(), piece_.data() + piece_.size());
    return traits_type::to_int_type(piece_.front());
  }

 private:
  std::function<std::string(std::int64_t)> make_;
  std::int64_t index_ = 0;
  std::string piece_;
};

std::int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * kKiB;
}

// Reads what `make` gives and expects the process not to have grown by more than the promised few
// MiB. Sanitizers keep freed memory, so under them only the summary counts.
LogSummary read_bounded(std::function<std::string(std::int64_t)> make) {
  GeneratedBytes bytes(std::move(make));
  std::istream stream(&bytes);
  const std::int64_t before = peak_resident_bytes();
  LogSummary summary = read_log(stream);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(peak_resident_bytes() - before, 16 * kMiB);
#else
  (void)before;
#endif
  return summary;
}

constexpr std::string_view kFailure =
    "RuntimeError: CUDA out of memory. Tried to allocate 384.00 MiB (GPU 0; 24.00 GiB total "
    "capacity; 22.01 GiB "
    "already allocated; 342.71 MiB free; 65.09 MiB cached)\n";

TEST(LogStream, MillionsOfProgressLines) {
  constexpr std::int64_t kPieces = 4000;  // about 20 MB
  const LogSummary summary = read_bounded([](std::int64_t index) {
    if (index == kPieces) return std::string(kFailure);
    if (index > kPieces) return std::string();
    std::string piece;
    for (int i = 0; i < 100; ++i) {
      piece += fmt::format("iter {}: loss 2.4741, time 63.12ms, mfu 10.02%\n", index * 100 + i);
    }
    return piece;
  });
  EXPECT_GT(summary.byte_count, 18 * kMiB);
  EXPECT_EQ(summary.line_count, kPieces * 100 + 1);
  EXPECT_EQ(summary.facts.last_iteration, kPieces * 100 - 1);
  ASSERT_EQ(summary.events.size(), 1U);
  EXPECT_EQ(summary.events[0].line, kPieces * 100 + 1);
  EXPECT_EQ(to_text(summary.events[0].request), "384.00 MiB");
}

TEST(LogStream, ThousandsOfFailuresAreCountedAndFewAreKept) {
  constexpr std::int64_t kCount = 20000;
  const LogSummary summary = read_bounded([](std::int64_t index) {
    if (index >= kCount) return std::string();
    return fmt::format(
        "Traceback (most recent call last):\n  File \"/a/very/long/path/to/train.py\", line {}, in "
        "step\n    "
        "loss.backward()\n{}KeyError: 'k{}'\nOverriding: key{} = {}\nbatch_size={}\nRTX {}\n",
        index + 1, kFailure, index, index, index, index, index);
  });
  EXPECT_EQ(summary.count_of(LogEventKind::kCudaOutOfMemory), kCount);
  EXPECT_EQ(summary.count_of(LogEventKind::kOtherError), kCount);
  ASSERT_GE(summary.events.size(), 4U);
  EXPECT_LE(summary.events.size(), 32U);
  EXPECT_EQ(summary.events.front().line, 4);
  EXPECT_EQ(summary.events.front().frames.at(0).source, "loss.backward()");
  EXPECT_EQ(summary.events.back().text, fmt::format("KeyError: 'k{}'", kCount - 1));
  EXPECT_LE(summary.facts.settings.size(), 512U);
}

// A list of processes that never ends keeps its message open.
TEST(LogStream, AMessageThatGoesOnForever) {
  constexpr std::int64_t kPieces = 1000;  // 16 million lines
  std::string piece;
  for (int i = 0; i < 1000; ++i) piece += "memory in use" + std::string(16, '\n');
  const LogSummary summary = read_bounded([&piece](std::int64_t index) {
    if (index == 0 || index == kPieces) return std::string(kFailure);
    return index > kPieces ? std::string() : piece;
  });
  EXPECT_EQ(summary.count_of(LogEventKind::kCudaOutOfMemory), 2);
  ASSERT_EQ(summary.events.size(), 2U);
  EXPECT_EQ(to_text(summary.events[0]), to_text(summary.events[1]));
}

// What tells the kind of a message may come when no more of it is kept.
TEST(LogStream, AKindBeyondWhatIsKept) {
  std::string text = "RuntimeError: \n";
  for (int i = 0; i < 3000; ++i) text += "memory in use\n";
  const LogSummary summary = read_text(text + "CUDA out of memory. Tried to allocate 2.00 GiB\n");
  ASSERT_EQ(summary.events.size(), 1U);
  EXPECT_EQ(summary.events[0].kind, LogEventKind::kCudaOutOfMemory);
  EXPECT_LE(summary.events[0].text.size(), 2000U);
}

TEST(LogStream, OneLineWithoutEnd) {
  const LogSummary summary = read_bounded([](std::int64_t index) {
    if (index == 400) return std::string(kFailure);
    return index > 400 ? std::string() : std::string(50000, "abcdefghij"[index % 10]);
  });
  EXPECT_EQ(summary.line_count, 1);
  ASSERT_EQ(summary.events.size(), 1U);
  EXPECT_EQ(to_text(summary.events[0].request), "384.00 MiB");
  EXPECT_LE(summary.events[0].text.size(), 600U);
}

TEST(LogStream, LinesThatEndInThousandsOfBorders) {
  constexpr std::size_t kHalf = 16 << 10;
  const std::string line = "|" + std::string(kHalf - 2, ' ') + std::string(kHalf, '|') + '\n';
  std::string text;
  for (int i = 0; i < 200; ++i) text += line;
  const LogSummary summary = read_text(text + "| iter 7: loss 2.4" + line);
  EXPECT_EQ(summary.line_count, 201);
  EXPECT_EQ(summary.facts.last_iteration, 7);
}

// What is sought in a whole line is sought once, however many words call for it.
TEST(LogStream, LinesFullOfTheSameWord) {
  for (const char* word : {"train.py --a=1 --a=2 ", "cell in[", ".py:3 ", "empty_strided(("}) {
    std::string text;
    while (text.size() < 4 * kMiB) text += word;
    const LogSummary summary = read_text(text);
    EXPECT_EQ(summary.line_count, 1) << word;
    EXPECT_LE(summary.facts.settings.size(), 512U) << word;
  }
  EXPECT_EQ(read_text("train.py --a=1 --a=2 train.py train.py\n").facts.settings.size(), 2U);
}

}  // namespace
}  // namespace snug::doctor::log
