// metrics.jsonl in a folder that may come from anyone: whatever stands under its name, no other
// file changes, nothing is waited for and nothing is read whole.
#include "train/metrics.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/test_directory.h"

namespace snug::train {
namespace {

namespace fs = std::filesystem;

class MetricsTest : public ::testing::Test {
 protected:
  void open(std::int64_t first_iteration) { MetricsFile(folder_.path().string(), first_iteration); }
  std::string refusal() {
    return message_of<ConfigError>([&] { open(0); });
  }
  std::string path() const { return (folder_.path() / kMetricsFile).string(); }

  TestDirectory folder_;
};

TEST_F(MetricsTest, AppendsAndDropsWhatIsFromTheFirstIterationOn) {
  {
    MetricsFile file(folder_.path().string(), 0);
    file.add({0, 4.0, 1e-3, 1.0, 10, 100});
    file.add_evaluation(2, 3.5, 3.6, std::nullopt);
    file.add({2, 3.0, 1e-3, 1.0, 10, 100});
    file.sync();
  }
  const std::string whole = folder_.read(kMetricsFile);
  open(3);
  EXPECT_EQ(folder_.read(kMetricsFile), whole);
  open(2);
  EXPECT_EQ(folder_.read(kMetricsFile), whole.substr(0, whole.find('\n') + 1));
}

TEST_F(MetricsTest, ATornLastLineIsDropped) {
  folder_.write(kMetricsFile, "{\"iter\": 0, \"loss\": 1}\n{\"iter\": 1, \"lo");
  open(5);
  EXPECT_EQ(folder_.read(kMetricsFile), "{\"iter\": 0, \"loss\": 1}\n");
}

TEST_F(MetricsTest, ALinkIsRefusedAndItsTargetUntouched) {
  folder_.write("precious", "mine\n");
  fs::create_symlink("precious", path());
  expect_holds(refusal(), {"metrics.jsonl", "is a link", "name another --out_dir"});
  EXPECT_EQ(folder_.read("precious"), "mine\n");
}

TEST_F(MetricsTest, ADanglingLinkIsRefusedAndNothingIsMade) {
  fs::create_symlink("nowhere", path());
  expect_holds(refusal(), {"is a link"});
  EXPECT_FALSE(fs::exists(folder_.path() / "nowhere"));
}

TEST_F(MetricsTest, AFileOfTwoNamesIsRefusedAndUntouched) {
  folder_.write("precious", "mine\n");
  fs::create_hard_link(folder_.path() / "precious", path());
  expect_holds(refusal(), {"has another name"});
  EXPECT_EQ(folder_.read("precious"), "mine\n");
}

TEST_F(MetricsTest, APipeIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  expect_holds(refusal(), {"not a file"});
}

TEST_F(MetricsTest, AFolderIsRefused) {
  fs::create_directory(path());
  expect_holds(refusal(), {"metrics.jsonl"});
}

TEST_F(MetricsTest, AHugeLineTakesNoMemory) {
  folder_.write(kMetricsFile, "{\"iter\": 0, \"loss\": 1}\n{\"iter\": 1, ");
  fs::resize_file(path(), std::uintmax_t{20} << 30);  // zeros, of which no block is on the disk
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  open(5);
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10);  // KiB
  EXPECT_EQ(folder_.read(kMetricsFile), "{\"iter\": 0, \"loss\": 1}\n");
}

}  // namespace
}  // namespace snug::train
