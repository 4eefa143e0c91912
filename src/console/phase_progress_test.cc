#include "console/phase_progress.h"

#include <gtest/gtest.h>

namespace snug::console {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kMegabyte = 1'000'000;
constexpr PhaseProgress::Time kStart{seconds(1000)};

PhaseFacts encoding(std::int64_t done_megabytes, std::int64_t tokens) {
  return {"encoding", done_megabytes * kMegabyte, 400 * kMegabyte, tokens};
}

TEST(PhaseProgress, TellsShareSpeedAndTheTimeLeft) {
  PhaseProgress progress;
  progress.see(encoding(0, 0), kStart);
  EXPECT_EQ(progress.text(encoding(0, 0), kStart), "encoding    0%  0.0 MB/s");
  // No text was wanted in between, as in a pipe: the phase began with the first facts all the same.
  progress.see(encoding(100, 25'000'000), kStart + seconds(10));
  EXPECT_EQ(progress.text(encoding(100, 25'000'000), kStart + seconds(10)),
            "encoding   25%  25,000,000 tokens  10.0 MB/s  ETA 30s");
  EXPECT_EQ(progress.text(encoding(400, 100'000'000), kStart + seconds(40)),
            "encoding  100%  100,000,000 tokens  10.0 MB/s  ETA 0s");
}

TEST(PhaseProgress, APhaseCountsFromItsOwnBeginning) {
  PhaseProgress progress;
  progress.see({"counting", 0, 400 * kMegabyte, 0}, kStart);
  // The next one begins a minute later, with what an earlier run has done.
  progress.see(encoding(200, 0), kStart + seconds(60));
  EXPECT_EQ(progress.text(encoding(250, 0), kStart + seconds(65)),
            "encoding   62%  10.0 MB/s  ETA 15s");
}

TEST(PhaseProgress, AnInputOfUnknownSizeHasNoEnd) {
  PhaseProgress progress;
  progress.see({"encoding", 0, -1, 0}, kStart);
  EXPECT_EQ(progress.text({"encoding", 30 * kMegabyte, -1, 7'000'000}, kStart + seconds(2)),
            "encoding  7,000,000 tokens  15.0 MB/s");
}

}  // namespace
}  // namespace snug::console
