#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "base/test_directory.h"
#include "metrics/crc32c.h"
#include "metrics/event_file.h"
#include "metrics/run_history.h"

namespace snug::metrics {
namespace {

// RFC 3720, B.4, and what everybody checks.
TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
  EXPECT_EQ(crc32c(""), 0u);
}

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    const char* digits = "0123456789abcdef";
    text += digits[static_cast<unsigned char>(c) >> 4];
    text += digits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

// The bytes that tensorboard 2.21's own writer makes of the same events;
// tests/metrics/check_tensorboard.py reads a whole run back.
TEST(EventFile, RecordsAreTensorBoards) {
  EXPECT_EQ(hex(event_record(version_event(1.5))),
            "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28"
            "646c");
  EXPECT_EQ(hex(event_record(scalar_event(2.0, 300, {{"loss/val", 2.5}, {"lr", 1e-3}}))),
            "2a00000000000000ae8d91f509000000000000004010ac022a1c0a0f0a086c6f73732f76616c"
            "15000020400a090a026c72156f12833aa11e2b9f");
  EXPECT_EQ(hex(event_record(start_event(2.0, 7))),
            "0f000000000000006d532b0909000000000000004010073a020801d1715dcb");
}

TEST(EventFile, EachRunHasItsOwnFile) {
  const TestDirectory folder;
  for (int i = 0; i < 3; ++i) {
    EventFile file(folder.path() / "tensorboard", i);
    file.add(i, {{"loss", 1.0}});
  }
  EXPECT_EQ(folder.list().size(), 4u);
  EXPECT_NE(folder.list()[1].find("tensorboard/events.out.tfevents."), std::string::npos);
  folder.write("file", "");
  expect_holds(message_of<DeviceError>([&] { EventFile(folder.path() / "file", 0); }),
               {"cannot be written"});
}

TEST(RunHistory, ReadsWhatTrainingWrites) {
  const TestDirectory folder;
  folder.write(
      "out/metrics.jsonl",
      "{\"iter\": 0, \"train_loss\": 4.2, \"val_loss\": 4.3, \"floor\": 0.19}\n"
      "{\"iter\": 0, \"loss\": 4.25, \"lr\": 0.001, \"grad_norm\": null, \"time_ms\": 3.0, "
      "\"tokens_per_second\": 100.5}\n"
      "{\"iter\": 1, \"loss\": 1e400}\n"
      "garbage\n[1]\n{\"iter\": -3}\n{\"iter\": 1e3}\n{\"iter\": 18446744073709551615}\n" +
          std::string(10'000, 'x') + "\n{\"iter\": 2, \"loss\": 4.0");
  const RunHistory run = read_history(folder.path() / "out");
  ASSERT_EQ(run.loss.size(), 1u);
  EXPECT_EQ(run.loss[0].value, 4.25);
  EXPECT_EQ(run.val_loss.at(0).value, 4.3);
  EXPECT_EQ(run.learning_rate.at(0).value, 0.001);
  EXPECT_TRUE(run.gradient_norm.empty());
  EXPECT_EQ(run.entropy_floor, 0.19);
  EXPECT_EQ(run.ignored_lines, 7);
  EXPECT_EQ(run.name, (folder.path() / "out").string());
}

TEST(RunHistory, SaysWhatIsMissing) {
  const TestDirectory folder;
  expect_holds(message_of<DataError>([&] { read_history(folder.path() / "none"); }),
               {"none", "out_dir of a run"});
  folder.write("new/metrics.jsonl", "");
  expect_holds(message_of<DataError>([&] { read_history(folder.path() / "new"); }),
               {"no losses yet"});
}

}  // namespace
}  // namespace snug::metrics
