#include "checkpoint/safetensors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "checkpoint/checkpoint_testing.h"

namespace snug::checkpoint {
namespace {

using testing::read_text;
using testing::TinyModel;
using testing::write_text;

std::string with_length(const std::string& header, const std::string& data = "") {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>((header.size() >> (8 * i)) & 0xff);
  return text + header + data;
}

// The message of the DataError that opening such a file gives; "" when it opens.
std::string open_error(const std::string& content) {
  const TemporaryFolder folder;
  const Path file = folder.path() / "x.safetensors";
  testing::write_text(file, content);
  try {
    const SafetensorsReader reader(file);
    return "";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find(file.string()), std::string::npos) << error.what();
    return error.what();
  }
}

TEST(Checksum, IsXxh3AndBlindToCuts) {
  EXPECT_EQ(to_hex(Checksum().value()), "2d06800538d394c2");  // XXH3 of nothing, seed 0
  Checksum whole, parts;
  const std::string text(5000, 'x');
  whole.update(text);
  for (std::size_t at = 0; at < text.size(); at += 37) {
    parts.update(std::string_view(text).substr(at, 37));
  }
  EXPECT_EQ(whole.value(), parts.value());
  EXPECT_EQ(parse_hex(to_hex(whole.value())), whole.value());
  EXPECT_EQ(parse_hex("2D06800538D394C2"), std::nullopt);
}

TEST(Safetensors, ReadsBackWhatItWroteInAnyOrder) {
  const TemporaryFolder folder;
  FileSystem disk;
  TinyModel model;
  model.fill(3);
  const Path file = folder.path() / "m.safetensors";
  const FileDigest digest = write_safetensors(disk, file, model.weights, model);
  EXPECT_EQ(digest.byte_count, safetensors_bytes(model.weights));
  EXPECT_EQ(digest.byte_count, std::ssize(testing::read_text(file)));
  const FileDigest optimizer_digest =
      write_safetensors(disk, folder.path() / "o.safetensors", model.optimizer, model);

  model.fill(4);
  std::swap(model.weights[0], model.weights[2]);
  SafetensorsReader(file).read_all(model.weights, model, digest.checksum);
  const SafetensorsReader optimizer(folder.path() / "o.safetensors");
  for (const SafetensorsEntry& entry : optimizer.entries()) {
    const bool first = entry.label.name == model.optimizer[0].name;
    optimizer.read(entry, model.optimizer[first ? 0 : 1], model);
  }
  EXPECT_TRUE(model.holds(3));
  EXPECT_NE(digest.checksum, optimizer_digest.checksum);
}

TEST(Safetensors, SameTensorsGiveTheSameAlignedFile) {
  const TemporaryFolder folder;
  FileSystem disk;
  TinyModel model;
  model.fill(1);
  write_safetensors(disk, folder.path() / "a", model.weights, model);
  write_safetensors(disk, folder.path() / "b", model.weights, model);
  const std::string text = testing::read_text(folder.path() / "a");
  EXPECT_EQ(text, testing::read_text(folder.path() / "b"));
  EXPECT_EQ((make_safetensors_header(model.weights).size() + 8) % 64, 0u);
  EXPECT_EQ(text.substr(8, 36), R"({"__metadata__":{"format":"pt"},"wte)");
  EXPECT_EQ(SafetensorsReader(folder.path() / "a").metadata().at("format"), "pt");
}

TEST(Safetensors, SurvivesShortWrites) {
  const TemporaryFolder folder;
  testing::FaultPlan plan;
  plan.max_write_bytes = 3;
  testing::FaultyFileSystem disk(plan);
  TinyModel model;
  model.fill(9);
  const FileDigest digest = write_safetensors(disk, folder.path() / "a", model.weights, model);
  model.weights.pop_back();  // and a reader that is asked for less than there is says so
  const SafetensorsReader reader(folder.path() / "a");
  EXPECT_THROW(reader.read_all(model.weights, model, digest.checksum), DataError);
  EXPECT_EQ(std::ssize(testing::read_text(folder.path() / "a")), digest.byte_count);
}

TEST(Safetensors, RefusesToWriteANameTwice) {
  TinyModel model;
  model.weights.push_back(model.weights[0]);
  EXPECT_THROW(make_safetensors_header(model.weights), InternalError);
  model.weights = {model.optimizer[0]};
  model.weights[0].name = "bad \xff name";
  EXPECT_THROW(make_safetensors_header(model.weights), InternalError);
}

TEST(Safetensors, AFullDiskIsAFileError) {
  class FullDisk : public FileSystem {
    int create_file(const Path&) override { return ::open("/dev/full", O_WRONLY | O_CLOEXEC); }
  } disk;
  TinyModel model;
  try {
    write_safetensors(disk, "file", model.weights, model);
    FAIL() << "written to /dev/full";
  } catch (const FileError& error) {
    EXPECT_EQ(error.error_number, ENOSPC);
  }
}

TEST(Safetensors, AFileSizeLimitIsAFileError) {
  const TemporaryFolder folder;
  FileSystem disk;
  TinyModel model;
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 300, .rlim_max = limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  int error_number = 0;
  try {
    write_safetensors(disk, folder.path() / "a", model.weights, model);
  } catch (const FileError& error) {
    error_number = error.error_number;
  }
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(error_number, EFBIG);
}

TEST(Safetensors, EveryFlippedBitAndEveryCutIsNoticed) {
  const TemporaryFolder folder;
  FileSystem disk;
  TinyModel model;
  const Path file = folder.path() / "a";
  const FileDigest digest = write_safetensors(disk, file, model.weights, model);
  const std::string good = testing::read_text(file);
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
    testing::write_text(file, bad);
    EXPECT_THROW(SafetensorsReader(file).read_all(model.weights, model, digest.checksum), DataError)
        << at;
    testing::write_text(file, good.substr(0, at));
    EXPECT_THROW(SafetensorsReader(file).read_all(model.weights, model, digest.checksum), DataError)
        << at;
  }
}

TEST(Safetensors, TensorsThatAreNotTheWantedOnesAreNamed) {
  const TemporaryFolder folder;
  FileSystem disk;
  TinyModel narrow(5), wide(6);
  write_safetensors(disk, folder.path() / "a", narrow.weights, narrow);
  const SafetensorsReader reader(folder.path() / "a");
  try {
    reader.read_all(wide.weights, wide);
    FAIL() << "read a misshapen tensor";
  } catch (const DataError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("'wte.weight'"), std::string::npos) << message;
    EXPECT_NE(message.find("wanted F32 (7, 6), found F32 (7, 5)"), std::string::npos) << message;
  }
  narrow.weights[1].name = "h.0.renamed";
  EXPECT_THROW(reader.read_all(narrow.weights, narrow), DataError);
}

TEST(Safetensors, AcceptsWhatTheFormatAllows) {
  EXPECT_EQ(open_error(with_length("{}")), "");
  EXPECT_EQ(open_error(with_length("{}   ")), "");
  EXPECT_EQ(open_error(with_length(R"({"__metadata__":{"a":"b"},)"
                                   R"("y":{"data_offsets":[2,10],"dtype":"I64","shape":[]},)"
                                   R"("x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                                   R"("z":{"dtype":"F32","shape":[0,9],"data_offsets":[10,10]}})",
                                   "0123456789")),
            "");
}

TEST(Safetensors, RefusesMalformedFiles) {
  const auto tensor = [](const std::string& fields) {
    return with_length(R"({"x":{)" + fields + "}}", "0123");
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "only 0 bytes"},
      {"1234567", "only 7 bytes"},
      {std::string(8, '\xff'), "header of 18446744073709551615 bytes"},
      {std::string("\x02\0\0\0\0\0\0\0{", 9), "header of 2 bytes"},
      {with_length(""), "no header"},
      {with_length("[]"), "no header"},
      {with_length(" {}"), "no header"},
      {with_length("{"), "not JSON"},
      {with_length("{}x"), "not JSON"},
      {with_length(R"({"x":1})"), "a number"},
      {with_length(R"({"x":null})"), "null"},
      {with_length(R"({"x":[]})"), "a list"},
      {with_length(R"({"__metadata__":{"a":1}})"), "a number"},
      {with_length(R"({"__metadata__":{"a":{}}})"), "an object"},
      {with_length("{\"\xff\":{}}"), "not JSON"},
      {with_length("{\"x\":" + std::string(100000, '[')), "a list"},
      {tensor(""), "no dtype"},
      {tensor(R"("dtype":"F32","shape":[1])"), "no dtype, shape or data_offsets"},
      {tensor(R"("dtype":"F99","shape":[1],"data_offsets":[0,4])"), "unknown dtype 'F99'"},
      {tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4],"a":1)"), "unknown field"},
      {tensor(R"("dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4])"), "twice"},
      {tensor(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), "a negative number"},
      {tensor(R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])"), "a fraction"},
      {tensor(R"("dtype":"F32","shape":[true],"data_offsets":[0,4])"), "a boolean"},
      {tensor(R"("dtype":"F32","shape":[1,1,1,1,1],"data_offsets":[0,4])"), "more than 4"},
      {tensor(R"("dtype":"F32","shape":["1"],"data_offsets":[0,4])"), "a string"},
      {tensor(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4])"), "huge"},
      {tensor(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4])"),
       "more bytes than there can be"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), "offsets 0 to 4 for 8 bytes"},
      {tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"), "offsets 4 to 0"},
      {tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0])"), "without two numbers"},
      {tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4,4])"), "more than 2"},
      {tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), "a gap or an overlap"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])"), "its header tells of 8"},
      {tensor(R"("dtype":"U8","shape":[2],"data_offsets":[0,2])"), "its header tells of 2"},
      {with_length(R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                   R"("x":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
                   "0123"),
       "the name 'x' twice"},
      {with_length(R"({"x":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                   R"("y":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
                   "0123"),
       "a gap or an overlap"},
  };
  for (const auto& [content, reason] : cases) {
    EXPECT_NE(open_error(content).find(reason), std::string::npos)
        << "wanted: " << reason << "\nfound: " << open_error(content);
  }
}

TEST(Safetensors, RefusesWhatIsNotAFile) {
  const TemporaryFolder folder;
  EXPECT_THROW(SafetensorsReader reader(folder.path()), DataError);
  EXPECT_THROW(SafetensorsReader reader(folder.path() / "nothing"), DataError);
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(SafetensorsReader reader(folder.path() / "pipe"), DataError);
}

}  // namespace
}  // namespace snug::checkpoint
