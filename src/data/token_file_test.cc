#include "data/token_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <numeric>
#include <thread>

#include "base/test_directory.h"
#include "data/token_shards.h"
#include "data/wide_ids.h"

namespace snug::data {
namespace {

constexpr TokenFileNeeds kNeeds{.vocab_size = 65, .block_size = 4};

std::vector<std::uint16_t> counting(int count) {
  std::vector<std::uint16_t> tokens(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::uint16_t>(i % 65);
  return tokens;
}

std::string llmc_header(std::int32_t magic, std::int32_t version, std::int32_t count) {
  std::vector<std::int32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = count;
  return little_endian_bytes(header);
}

std::string open_error(const std::filesystem::path& path, TokenFileNeeds needs = kNeeds) {
  return message_of<DataError>([&] { TokenFile(path, needs); });
}

TEST(TokenFile, ReadsRawUint16) {
  const TestDirectory dir;
  const TokenFile file(dir.write("x/train.bin", little_endian_bytes(counting(100))), kNeeds);
  EXPECT_EQ(file.token_count(), 100);
  std::vector<std::int32_t> out(100);
  file.read(0, out);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], i % 65);
  file.read(63, std::span(out).first(4));
  EXPECT_EQ(std::vector<std::int32_t>(out.begin(), out.begin() + 4),
            (std::vector<std::int32_t>{63, 64, 0, 1}));
  EXPECT_TRUE(file.check_all_ids());
  file.read(100, {});
}

TEST(TokenFile, ReadsLlmcUint16AndUint32) {
  const TestDirectory dir;
  const std::string body16 = little_endian_bytes(counting(9));
  const std::string body32 =
      little_endian_bytes(std::vector<std::uint32_t>{70000, 1, 2, 3, 127999});
  const TokenFile small(dir.write("a.bin", llmc_header(20240520, 1, 9) + body16), kNeeds);
  const TokenFile large(dir.write("b.bin", llmc_header(20240801, 7, 5) + body32),
                        {.vocab_size = 128000, .block_size = 4});
  std::array<std::int32_t, 5> out{};
  small.read(4, out);
  EXPECT_EQ(out, (std::array<std::int32_t, 5>{4, 5, 6, 7, 8}));
  large.read(0, out);
  EXPECT_EQ(out, (std::array<std::int32_t, 5>{70000, 1, 2, 3, 127999}));
}

TEST(TokenFile, NamesTheTokenOutsideTheVocabulary) {
  const TestDirectory dir;
  std::vector<std::uint16_t> tokens = counting(20000);
  tokens[12345] = 70;
  const TokenFile file(dir.write("x/train.bin", little_endian_bytes(tokens)), kNeeds);
  std::vector<std::int32_t> out(10);
  file.read(12000, out);
  const std::string message = message_of<DataError>([&] { file.read(12340, out); });
  expect_holds(message, {"token 70 at position 12,345 of ", "x/train.bin", "vocabulary of 65",
                         "snug prepare"});
  EXPECT_EQ(message_of<DataError>([&] { file.check_all_ids(); }), message);
}

TEST(TokenFile, RefusesUint32IdsThatWouldTurnNegative) {
  const TestDirectory dir;
  const std::string body = little_endian_bytes(std::vector<std::uint32_t>{1, 2, 3, 0xFFFFFFFF, 5});
  const TokenFile file(dir.write("x.bin", llmc_header(20240801, 7, 5) + body),
                       {.vocab_size = 128000, .block_size = 2});
  expect_holds(message_of<DataError>([&] { file.check_all_ids(); }), {"token 4294967295"});
}

TEST(TokenFile, MissingFileListsTheDatasetsThereAre) {
  const TestDirectory dir;
  dir.write("shakespeare/train.bin", "xx");
  dir.write("tales/train.bin", "xx");
  dir.write("notes/readme", "");
  expect_holds(open_error(dir.path() / "owt" / "train.bin"),
               {"owt/train.bin is missing: there is no folder", "shakespeare, tales\n",
                "snug prepare char YOUR_TEXT.txt"});
  expect_holds(open_error(dir.path() / "openwebtext" / "train.bin"),
               {"snug prepare bpe YOUR_TEXT.txt"});
  expect_holds(open_error(dir.path() / "shakespeare_char" / "train.bin"),
               {"fetch the text", "snug prepare shakespeare_char "});
  expect_holds(open_error(dir.path() / "tales" / "val.bin"), {"is there, without it"});
  expect_holds(open_error(dir.path() / "nowhere" / "x" / "train.bin"), {"nowhere: none"});
}

TEST(TokenFile, RefusesFilesThatAreNotTokens) {
  const TestDirectory dir;
  expect_holds(open_error(dir.write("odd.bin", "12345678901")), {"11 bytes, an odd number"});
  expect_holds(open_error(dir.write("empty.bin", "")), {"empty.bin is empty"});
  expect_holds(open_error(dir.path()), {"is a folder, not a file"});
  ASSERT_EQ(::mkfifo((dir.path() / "pipe").c_str(), 0600), 0);
  expect_holds(open_error(dir.path() / "pipe"), {"is a pipe or device"});
  expect_holds(open_error(dir.write("model.bin", llmc_header(20240326, 3, 0))), {"not tokens"});
}

TEST(TokenFile, RefusesAFileTooShortForTheBlock) {
  const TestDirectory dir;
  const auto path = dir.write("x.bin", little_endian_bytes(counting(4)));
  expect_holds(open_error(path), {"block_size = 4", "more than 4 tokens, found 4", "3 or less"});
  EXPECT_EQ(TokenFile(path, {.vocab_size = 65, .block_size = 3}).token_count(), 4);
}

TEST(TokenFile, RefusesLlmcHeadersThatDoNotHold) {
  const TestDirectory dir;
  const std::string body = little_endian_bytes(counting(10));
  expect_holds(open_error(dir.write("a.bin", llmc_header(20240520, 1, 11) + body)),
               {"promises 11 tokens", "wanted 1,046 bytes, found 1,044"});
  expect_holds(open_error(dir.write("b.bin", llmc_header(20240520, 1, -1) + body)), {"damaged"});
  expect_holds(open_error(dir.write("c.bin", llmc_header(20240520, 2, 10) + body)),
               {"version 2", "only version 1"});
  expect_holds(open_error(dir.write("d.bin", llmc_header(20240520, 1, 0))), {"is empty"});
}

TEST(TokenFile, SaysWhenItMayNotRead) {
  const TestDirectory dir;
  const auto path = dir.write("x.bin", little_endian_bytes(counting(10)));
  std::filesystem::permissions(path, std::filesystem::perms::none);
  const WithoutRoot dropped;
  expect_holds(open_error(path), {"cannot open", "Permission denied", "chmod u+r"});
}

TEST(TokenFile, NoticesAFileThatShrinksWhileInUse) {
  const TestDirectory dir;
  const auto path = dir.write("x.bin", little_endian_bytes(counting(1000)));
  const TokenFile file(path, kNeeds);
  std::array<std::int32_t, 8> out{};
  std::filesystem::resize_file(path, 1000);
  expect_holds(message_of<DataError>([&] { file.read(900, out); }),
               {"cut short while it was in use", "2,000 bytes", "1,000 now"});
  expect_holds(message_of<DataError>([&] { file.read(0, out); }), {"cut short"});
  for (const int bytes : {2000, 3001}) {  // what is appended is not looked at
    std::filesystem::resize_file(path, static_cast<std::uintmax_t>(bytes));
    file.read(992, out);
  }
}

TEST(TokenFile, ReadingPastTheEndIsABug) {
  const TestDirectory dir;
  const TokenFile file(dir.write("x.bin", little_endian_bytes(counting(10))), kNeeds);
  std::vector<std::int32_t> out(11);
  EXPECT_THROW(file.read(0, out), InternalError);
  EXPECT_THROW(file.read(-1, std::span(out).first(2)), InternalError);
  EXPECT_THROW(file.read(9, std::span(out).first(2)), InternalError);
  EXPECT_THROW(file.read(std::int64_t{1} << 62, std::span(out).first(2)), InternalError);
}

TEST(TokenFile, LeavesLargeFilesToBeCheckedAsRead) {
  const TestDirectory dir;
  const auto path = dir.write("x.bin", "");
  std::filesystem::resize_file(path, TokenFile::kCheckAllLimitBytes + 2);  // sparse
  EXPECT_FALSE(TokenFile(path, kNeeds).check_all_ids());
}

TEST(TokenFile, ServesThreadsAtOnce) {
  const TestDirectory dir;
  const TokenFile file(dir.write("x.bin", little_endian_bytes(counting(5000))), kNeeds);
  const auto work = [&](std::int64_t offset) {
    std::array<std::int32_t, 64> out{};
    for (std::int64_t first = offset; first + 64 < 5000; first += 7) {
      file.read(first, out);
      ASSERT_EQ(out[5], (first + 5) % 65);
    }
  };
  std::thread one(work, 0), two(work, 3);
  one.join();
  two.join();
}

TEST(TokenFile, ShardsAreFoundByLlmcsNames) {
  const TestDirectory dir;
  const std::string tokens = llmc_header(20240520, 1, 9) + little_endian_bytes(counting(9));
  dir.write("x/tiny_shakespeare_train.bin", tokens);
  dir.write("x/tiny_shakespeare_val.bin", tokens);
  dir.write("x/web_train_000001.bin", tokens);
  dir.write("x/trainer.bin", "something else");
  EXPECT_EQ(open_tokens(dir.path() / "x", "train", kNeeds)->token_count(), 18);
  EXPECT_EQ(open_tokens(dir.path() / "x", "val", kNeeds)->token_count(), 9);
}

TEST(TokenFile, IdsOf32BitsAreNotTakenFor16) {
  const TestDirectory dir;
  std::vector<std::uint32_t> wide;
  for (std::uint32_t i = 0; i < 100; ++i) wide.push_back(i * 317);
  const TokenFileNeeds needs{.vocab_size = 65536, .block_size = 4};
  const TokenFile file(dir.write("wide.bin", little_endian_bytes(wide)), needs);
  EXPECT_TRUE(looks_like_wide_ids(file));
  expect_holds(message_of<DataError>([&] { require_narrow_ids(file); }),
               {"wide.bin", "32 bits", "astype(np.uint16)"});
  wide[70] = 70000;  // an upper half of 1, as in vocabularies of 100,000
  EXPECT_TRUE(looks_like_wide_ids(TokenFile(dir.write("w", little_endian_bytes(wide)), needs)));
  EXPECT_FALSE(
      looks_like_wide_ids(TokenFile(dir.write("n", little_endian_bytes(counting(200))), needs)));
  const std::vector<std::uint16_t> all_small(200, 1);
  EXPECT_FALSE(
      looks_like_wide_ids(TokenFile(dir.write("s", little_endian_bytes(all_small)), needs)));
}

TEST(TokenFile, IdsOf16BitsThatBeginLikeWiderOnes) {
  const TestDirectory dir;
  const TokenFileNeeds needs{.vocab_size = 65536, .block_size = 4};
  const auto looks_wide = [&](const std::vector<std::uint16_t>& ids) {
    return looks_like_wide_ids(TokenFile(dir.write("ids.bin", little_endian_bytes(ids)), needs));
  };
  std::vector<std::uint16_t> ids(100000);
  for (std::size_t i = 0; i < ids.size(); i += 2) ids[i] = static_cast<std::uint16_t>(i % 50257);
  EXPECT_TRUE(looks_wide(ids));
  for (std::size_t i = 50001; i < 60000; i += 2) ids[i] = 2;  // far from the first tokens
  EXPECT_FALSE(looks_wide(ids));

  // A few values, each with a label of 0 or 1.
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<std::uint16_t>(i % 2 == 0 ? i % 40 : i / 7 % 2);
  }
  EXPECT_FALSE(looks_wide(ids));

  const std::vector<std::uint16_t> odd_count(129, 7);
  EXPECT_FALSE(looks_wide(odd_count));
}

TEST(TokenFile, AHeaderSaysTheWidthOfIds) {
  const TestDirectory dir;
  std::vector<std::uint16_t> ids(200);
  for (std::size_t i = 0; i < ids.size(); i += 2) ids[i] = 300;
  const TokenFileNeeds needs{.vocab_size = 65536, .block_size = 4};
  EXPECT_TRUE(looks_like_wide_ids(TokenFile(dir.write("a", little_endian_bytes(ids)), needs)));
  const std::string header = llmc_header(20240520, 1, 200);
  EXPECT_FALSE(
      looks_like_wide_ids(TokenFile(dir.write("b", header + little_endian_bytes(ids)), needs)));
}

}  // namespace
}  // namespace snug::data
