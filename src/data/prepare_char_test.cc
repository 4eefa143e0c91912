#include "data/prepare_char.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "base/test_directory.h"
#include "base/utf8.h"
#include "data/char_tokenizer.h"

namespace snug::data {
namespace {

using Names = std::vector<std::string>;

std::string prepare_error(const TestDirectory& dir, std::string_view text) {
  const auto input = dir.write("input.txt", text);
  return message_of<DataError>([&] { prepare_char(input, dir.path() / "out"); });
}

std::string ids_of(const TestDirectory& dir, const std::string& name) {
  return dir.read("out/" + name);
}

TEST(PrepareChar, SplitsAndNumbersAsNanoGptDoes) {
  const TestDirectory dir;
  const PrepareSummary summary =
      prepare_char(dir.write("input.txt", "hello world, hello\n"), dir.path() / "out");
  // 19 characters: int(19 * 0.9) = 17. sorted(set(...)) = "\n ,dehlorw".
  EXPECT_EQ(summary.character_count, 19);
  EXPECT_EQ(summary.vocab_size, 10);
  EXPECT_EQ(summary.vocabulary, "\n ,dehlorw");
  EXPECT_EQ(summary.train_token_count, 17);
  EXPECT_EQ(summary.val_token_count, 2);
  EXPECT_EQ(ids_of(dir, "train.bin"), little_endian_bytes(std::vector<std::uint16_t>{
                                          5, 4, 6, 6, 7, 1, 9, 7, 8, 6, 3, 2, 1, 5, 4, 6, 6}));
  EXPECT_EQ(ids_of(dir, "val.bin"), little_endian_bytes(std::vector<std::uint16_t>{7, 0}));
  EXPECT_EQ(read_meta(dir.path() / "out")->itos[2], ",");
  EXPECT_EQ(dir.list(),
            (Names{"input.txt", "out", "out/meta.pkl", "out/train.bin", "out/val.bin"}));
}

TEST(PrepareChar, ReadsLineEndsAsPythonDoes) {
  const TestDirectory dir;
  const auto mixed = dir.write("mixed.txt", "one\r\ntwo\rthree\n\rfour\r\n");
  const auto plain = dir.write("plain.txt", "one\ntwo\nthree\n\nfour\n");
  prepare_char(mixed, dir.path() / "mixed");
  prepare_char(plain, dir.path() / "plain");
  for (const char* name : {"/train.bin", "/val.bin", "/meta.pkl"}) {
    EXPECT_EQ(dir.read(std::string("mixed") + name), dir.read(std::string("plain") + name));
  }
}

// Characters of 1 to 4 bytes and \r\n, long enough to lie across every place in the buffer's end.
TEST(PrepareChar, CharactersMayLieAcrossBuffers) {
  const TestDirectory dir;
  std::string text, expected;
  for (int i = 0; i < 30000; ++i) {
    text += i % 7 == 0 ? "a\r\n" : "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\r";
    expected += i % 7 == 0 ? "a\n" : "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\n";
  }
  for (const char* shift : {"", "x", "xy", "xyz"}) {
    prepare_char(dir.write("input.txt", shift + text), dir.path() / "out");
    std::vector<std::int32_t> ids;
    for (const char* name : {"train.bin", "val.bin"}) {
      const std::string bytes = ids_of(dir, name);
      for (std::size_t i = 0; i < bytes.size(); i += 2) ids.push_back(bytes[i]);
    }
    const CharTokenizer tokenizer(*read_meta(dir.path() / "out"));
    ASSERT_TRUE(tokenizer.decode(ids) == shift + expected);
  }
}

TEST(PrepareChar, ReportsProgressToTheEnd) {
  const TestDirectory dir;
  const auto input = dir.write("input.txt", std::string(3'000'000, 'a'));
  std::vector<std::int64_t> seen;
  prepare_char(input, dir.path(), [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(total, 6'000'000);
    seen.push_back(done);
  });
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back(), 6'000'000);
  EXPECT_LT(seen.size(), 12u);
}

TEST(PrepareChar, RefusesTextItCannotUse) {
  const TestDirectory dir;
  expect_holds(prepare_error(dir, ""), {"input.txt is empty"});
  expect_holds(prepare_error(dir, "ten chars."), {"too small: 10 characters"});
  expect_holds(prepare_error(dir, "some good text, then \xFF and more"),
               {"input.txt is not UTF-8", "byte 0xFF at offset 21"});
  expect_holds(prepare_error(dir, "\x1F\x8B\x08 and so on"), {"input.txt is packed", "zcat"});
  expect_holds(prepare_error(dir, "some good text, then a cut \xE2\x82"), {"0xE2 at offset 27"});
  expect_holds(message_of<DataError>([&] { prepare_char(dir.path() / "no.txt", dir.path()); }),
               {"cannot open", "no.txt"});
  expect_holds(message_of<DataError>([&] { prepare_char(dir.path(), dir.path() / "out"); }),
               {"is a folder"});
  EXPECT_EQ(dir.list(), (Names{"input.txt"}));  // not even the folder was made
}

TEST(PrepareChar, HasRoomForExactly65536Characters) {
  const TestDirectory dir;
  std::string text;
  for (char32_t i = 0; i < 65536; ++i) append_utf8(0x10000 + i, text);
  EXPECT_EQ(prepare_char(dir.write("input.txt", text), dir.path() / "out").vocab_size, 65536);
  EXPECT_EQ(read_meta(dir.path() / "out")->vocab_size, 65536);
  expect_holds(prepare_error(dir, text + "x"), {"65,537 different characters", "at most 65,536"});
}

TEST(PrepareChar, WillNotOverwriteItsOwnInput) {
  const TestDirectory dir;
  const auto input = dir.write("train.bin", "text under an unlucky name");
  expect_holds(message_of<DataError>([&] { prepare_char(input, dir.path()); }),
               {"would be overwritten"});
  EXPECT_EQ(dir.read("train.bin"), "text under an unlucky name");
}

TEST(PrepareChar, NoticesTextThatChangesUnderIt) {
  const TestDirectory dir;
  const auto input = dir.write("input.txt", std::string(3'000'000, 'a'));
  const auto shrink = [&](std::int64_t done, std::int64_t) {
    if (done == 3'000'000) return;
    if (done > 3'000'000) std::filesystem::resize_file(input, 2'000'000);
  };
  expect_holds(message_of<DataError>([&] { prepare_char(input, dir.path() / "out", shrink); }),
               {"changed while it was being read"});
  EXPECT_EQ(dir.list(), (Names{"input.txt", "out"}));
}

TEST(PrepareChar, AFullDiskLeavesTheOldDataset) {
  const TestDirectory dir;
  prepare_char(dir.write("old.txt", "the old text stays"), dir.path() / "out");
  const std::string before = ids_of(dir, "train.bin");
  const auto input = dir.write("input.txt", std::string(500'000, 'b'));
  ::rlimit limit{}, saved{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &saved), 0);
  limit = saved;
  limit.rlim_cur = 300'000;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::string message;
  try {
    prepare_char(input, dir.path() / "out");
  } catch (const DeviceError& error) {
    message = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &saved);
  std::signal(SIGXFSZ, handler);
  expect_holds(message, {"train.bin", "File too large", "untouched", "free some space"});
  EXPECT_EQ(ids_of(dir, "train.bin"), before);
  EXPECT_EQ(dir.list(),
            (Names{"input.txt", "old.txt", "out", "out/meta.pkl", "out/train.bin", "out/val.bin"}));
}

TEST(PrepareChar, SaysWhenItMayNotWrite) {
  const TestDirectory dir;
  const auto input = dir.write("input.txt", "text enough for a dataset");
  expect_holds(message_of<DeviceError>([&] { prepare_char(input, input); }), {"cannot create"});
  expect_holds(message_of<DeviceError>([&] { prepare_char(input, input / "x"); }),
               {"cannot create the folder"});
  std::filesystem::create_directory(dir.path() / "locked");
  std::filesystem::permissions(dir.path() / "locked", std::filesystem::perms::owner_read |
                                                          std::filesystem::perms::owner_exec |
                                                          std::filesystem::perms::others_exec);
  const WithoutRoot dropped;
  expect_holds(message_of<DeviceError>([&] { prepare_char(input, dir.path() / "locked"); }),
               {"cannot create", "train.bin", "Permission denied"});
}

TEST(AtomicFile, SweepsUpAfterAnInterruptedRunAndWaitsForARunningOne) {
  const TestDirectory dir;
  dir.write("out/train.bin.partial", std::string(1000, 'x'));
  const auto input = dir.write("input.txt", "text enough for a dataset");
  const int other = ::open((dir.path() / "out/train.bin.partial").c_str(), O_RDWR);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  expect_holds(message_of<DeviceError>([&] { prepare_char(input, dir.path() / "out"); }),
               {"written by another process"});
  EXPECT_EQ(ids_of(dir, "train.bin.partial").size(), 1000u);
  ::close(other);
  prepare_char(input, dir.path() / "out");
  EXPECT_EQ(ids_of(dir, "train.bin").size(), 44u);
  EXPECT_EQ(dir.list().size(), 5u);
}

// A data set may come from anyone; what lies where a file is to be written is not ours to
// overwrite.
TEST(AtomicFile, WritesToNothingButAFileOfItsOwn) {
  for (const char* kind : {"link", "hard link", "pipe", "folder"}) {
    SCOPED_TRACE(kind);
    const TestDirectory dir;
    const auto precious = dir.write("precious", "mine\n");
    const auto input = dir.write("input.txt", "text enough for a dataset");
    const auto partial = dir.path() / "out/train.bin.partial";
    std::filesystem::create_directory(dir.path() / "out");
    const std::string_view name = kind;
    if (name == "link") std::filesystem::create_symlink(precious, partial);
    if (name == "hard link") std::filesystem::create_hard_link(precious, partial);
    if (name == "pipe") {
      ASSERT_EQ(::mkfifo(partial.c_str(), 0600), 0);
    }
    if (name == "folder") std::filesystem::create_directory(partial);
    expect_holds(message_of<ConfigError>([&] { prepare_char(input, dir.path() / "out"); }),
                 {"train.bin.partial", "files of its own", "move it away"});
    EXPECT_EQ(dir.read("precious"), "mine\n");
  }
}

}  // namespace
}  // namespace snug::data
