#include "prepare/prepare_bpe.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <map>
#include <thread>

#include "base/input_file.h"
#include "data/token_shards.h"
#include "prepare/batch_reader.h"
#include "prepare/prepare_for_test.h"
#include "prepare/side.h"

namespace snug::prepare {
namespace {

constexpr std::size_t kMegabyte = 1 << 20;

// As Python: text mode, then data[:int(n * 0.9)] and the rest.
struct PythonSplit {
  std::string train, val;
};
PythonSplit split_in_python(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    plain += text[i] == '\r' ? '\n' : text[i];
  }
  const auto wanted = static_cast<std::int64_t>(static_cast<double>(count_characters(plain)) * 0.9);
  std::size_t at = 0;
  for (std::int64_t seen = 0; at < plain.size(); ++at) {
    if ((plain[at] & 0xC0) != 0x80 && seen++ == wanted) break;
  }
  return {plain.substr(0, at), plain.substr(at)};
}

TEST_F(PrepareTest, CutsATextAsNanoGptDoes) {
  // More than two batches, with the cut inside of one.
  const std::string text = some_text(5 * kMegabyte / 2);
  folder_.write("text", text);
  const BpeSummary summary = prepare_bpe(whole_text("text"), {});
  const PythonSplit expected = split_in_python(text);
  EXPECT_EQ(out("train.bin"), tokens_of(expected.train));
  EXPECT_EQ(out("val.bin"), tokens_of(expected.val));
  EXPECT_EQ(summary.counts.documents, 1);
  EXPECT_EQ(summary.counts.characters, count_characters(expected.train + expected.val));
  EXPECT_EQ(folder_.list(),
            (std::vector<std::string>{"out", "out/train.bin", "out/val.bin", "text"}));
}

TEST_F(PrepareTest, DrawsDocumentsByLotWhateverTheThreads) {
  std::string lines;
  Tokens train, val;
  for (int i = 0; i < 3000; ++i) {
    std::string line =
        "document " + std::to_string(i) + some_text(static_cast<std::size_t>(i) % 700);
    std::erase_if(line, [](char c) { return c == '\n' || c == '\r'; });
    lines += line + (i % 2 == 0 ? "\n" : "\r\n") + (i % 50 == 0 ? "\n" : "");
    const auto number = static_cast<std::int64_t>(i + (i + 49) / 50);  // empty lines count
    const bool is_val = side_of_document(1337, 0.1, 0, number) == Side::kVal;
    const Tokens ids = tokens_of(line, true);
    (is_val ? val : train).insert((is_val ? val : train).end(), ids.begin(), ids.end());
  }
  folder_.write("lines", lines);
  for (const int threads : {1, 4}) {
    BpeOptions made = options({"lines"}, DocumentKind::kLine);
    made.val_share = 0.1;
    made.thread_count = threads;
    EXPECT_EQ(prepare_bpe(made, {}).counts.documents, 3000);
    EXPECT_EQ(out("train.bin"), train);
    EXPECT_EQ(out("val.bin"), val);
  }
}

// As Python's text mode has it, and as a document of a whole file is read.
TEST_F(PrepareTest, ALoneReturnEndsALineOfTextToo) {
  folder_.write("lines", "one\rtwo\r\nthree\r\r\n\rfour");
  BpeOptions made = options({"lines"}, DocumentKind::kLine);
  made.split = Split::kCharacters;
  made.val_share = 0.3;
  EXPECT_EQ(prepare_bpe(made, {}).counts.documents, 4);
  folder_.write("plain", "one\ntwo\nthree\nfour\n");
  const Tokens train = out("train.bin"), val = out("val.bin");
  made.inputs = options({"plain"}, DocumentKind::kLine).inputs;
  prepare_bpe(made, {});
  EXPECT_EQ(out("train.bin"), train);
  EXPECT_EQ(out("val.bin"), val);
}

TEST_F(PrepareTest, ReadsPackedTextAndSeveralFiles) {
  const std::string a = some_text(kMegabyte + 77, 2), b = some_text(900, 3), c = some_text(5000, 4);
  folder_.write("a", gzipped(a.substr(0, 5000)) + gzipped(a.substr(5000)));
  folder_.write("b", zstd_packed(b.substr(0, 300)) + zstd_packed(b.substr(300)));
  folder_.write("c", c);
  BpeOptions packed = options({"a", "b", "c"}, DocumentKind::kFile);
  packed.split = Split::kCharacters;
  packed.val_share = 0.1;
  prepare_bpe(packed, {});
  const Tokens train = out("train.bin"), val = out("val.bin");
  EXPECT_EQ(
      std::count(train.begin(), train.end(), 50256) + std::count(val.begin(), val.end(), 50256), 3);
  for (const auto& [name, text] : {std::pair("a", a), std::pair("b", b)}) folder_.write(name, text);
  prepare_bpe(packed, {});
  EXPECT_EQ(out("train.bin"), train);
  EXPECT_EQ(out("val.bin"), val);
}

TEST_F(PrepareTest, WritesShardsThatAreReadAsOne) {
  folder_.write("text", some_text(300'000));
  prepare_bpe(whole_text("text"), {});
  const Tokens train = out("train.bin");
  BpeOptions shards = whole_text("text");
  shards.directory = folder_.path() / "web";
  shards.format = Format::kLlmc;
  shards.shard_tokens = 10'000;
  const BpeSummary summary = prepare_bpe(shards, {});
  const auto paths = data::find_shards(folder_.path() / "web", "train");
  ASSERT_EQ(paths.size(), (train.size() + 9'999) / 10'000);
  EXPECT_EQ(paths.front().filename(), "web_train_000001.bin");
  EXPECT_EQ(data::find_shards(folder_.path() / "web", "val").front().filename(),
            "web_val_000000.bin");
  EXPECT_EQ(summary.files.size(),
            paths.size() + data::find_shards(folder_.path() / "web", "val").size());
  const auto tokens = data::open_tokens(folder_.path() / "web", "train", {50257, 64});
  ASSERT_EQ(tokens->token_count(), static_cast<std::int64_t>(train.size()));
  std::vector<std::int32_t> read(train.size());
  tokens->read(0, read);
  EXPECT_TRUE(std::equal(read.begin(), read.end(), train.begin()));
  std::vector<std::int32_t> across(20'100);  // begins in one shard, goes over a whole one
  tokens->read(9'950, across);
  EXPECT_TRUE(std::equal(across.begin(), across.end(), train.begin() + 9'950));
  EXPECT_TRUE(tokens->check_all_ids());
}

// Name and bytes of each.
std::map<std::string, std::string> files_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files[entry.path().filename().string()] = read_whole_file(entry.path(), 1 << 30);
  }
  return files;
}

// Stops after so many calls.
BpeHooks stop_after(int calls) {
  BpeHooks hooks;
  hooks.stop = [left = std::make_shared<int>(calls)] { return --*left < 0; };
  return hooks;
}

TEST_F(PrepareTest, GoesOnWhereItWasInterrupted) {
  folder_.write("text", gzipped(some_text(7 * kMegabyte)));
  const std::string lines = some_text(6 * kMegabyte, 9);
  folder_.write("lines", lines);
  for (const auto& [name, kind, format] :
       {std::tuple("text", DocumentKind::kFile, Format::kNanoGpt),
        std::tuple("lines", DocumentKind::kLine, Format::kLlmc)}) {
    BpeOptions made = kind == DocumentKind::kFile ? whole_text(name) : options({name}, kind);
    made.format = format;
    made.shard_tokens = 200'000;
    made.val_share = 0.1;
    made.thread_count = 1;
    made.directory = folder_.path() / (std::string(name) + "-whole");
    const BpeSummary whole = prepare_bpe(made, {});
    EXPECT_FALSE(whole.went_on);
    const std::map<std::string, std::string> expected = files_of(made.directory);
    made.directory =
        folder_.path() / (std::string(name) + "-parts") / (std::string(name) + "-whole");
    const int counting = kind == DocumentKind::kFile ? 8 : 0;
    expect_holds(message_of<StoppedError>([&] { prepare_bpe(made, stop_after(counting + 5)); }),
                 {"stopped", "goes on"});
    EXPECT_TRUE(data::find_shards(made.directory, "train").empty());
    EXPECT_FALSE(std::filesystem::exists(made.directory / "train.bin"));
    const BpeSummary second = prepare_bpe(made, {});
    EXPECT_TRUE(second.went_on);
    EXPECT_EQ(second.counts.characters, whole.counts.characters);
    EXPECT_EQ(second.counts.documents, whole.counts.documents);
    EXPECT_TRUE(files_of(made.directory) == expected);
  }
}

TEST_F(PrepareTest, GoesOnInFilesOfItsOwnOnly) {
  folder_.write("lines", some_text(6 * kMegabyte, 9));
  folder_.write("precious", "mine");
  BpeOptions made = options({"lines"}, DocumentKind::kLine);
  made.thread_count = 1;
  message_of<DeviceError>([&] { prepare_bpe(made, stop_after(5)); });
  const std::filesystem::path train = made.directory / ".prepare/train.bin";
  std::filesystem::remove(train);
  std::filesystem::create_symlink(folder_.path() / "precious", train);
  expect_holds(message_of<ConfigError>([&] { prepare_bpe(made, {}); }),
               {"train.bin is a link", "move it away"});
  EXPECT_EQ(folder_.read("precious"), "mine");
}

// In a process of its own, which is killed at that call. The journal is written after every batch.
void be_killed_after(int calls, const BpeOptions& options) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    BpeHooks hooks;
    hooks.journal_interval = {};
    hooks.stop = [left = calls]() mutable {
      if (--left < 0) std::raise(SIGKILL);
      return false;
    };
    prepare_bpe(options, hooks);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
}

TEST_F(PrepareTest, GoesOnAfterKillsAtAnyPoint) {
  folder_.write("lines", some_text(6 * kMegabyte, 4));
  folder_.write("more", zstd_packed(some_text(2 * kMegabyte, 5)));
  BpeOptions made = options({"lines", "more"}, DocumentKind::kLine);
  made.val_share = 0.1;
  made.thread_count = 1;
  made.format = Format::kLlmc;
  made.shard_tokens = 300'000;
  made.directory = folder_.path() / "whole" / "set";
  const BpeSummary whole = prepare_bpe(made, {});
  const std::map<std::string, std::string> expected = files_of(made.directory);
  made.directory = folder_.path() / "killed" / "set";
  // Each goes on from what the one before has left: before the first journal, then further and
  // further, a batch or more each; with other numbers of threads, too.
  for (const int calls : {1, 2, 5, 3}) {
    be_killed_after(calls, made);
    if (HasFatalFailure()) return;
    made.thread_count = 3 - made.thread_count;
    EXPECT_TRUE(data::find_shards(made.directory, "train").empty());
  }
  const BpeSummary last = prepare_bpe(made, {});
  EXPECT_TRUE(last.went_on);
  EXPECT_EQ(last.counts.documents, whole.counts.documents);
  EXPECT_EQ(last.counts.characters, whole.counts.characters);
  EXPECT_TRUE(files_of(made.directory) == expected);
}

// A text that is cut by characters is counted first, and again each time.
TEST_F(PrepareTest, ATextGoesOnAfterAKill) {
  const std::string text = some_text(7 * kMegabyte, 6);
  folder_.write("text", text);
  BpeOptions made = whole_text("text");
  made.thread_count = 1;
  for (const int calls : {3, 8 + 4}) {  // while counting, then while encoding
    be_killed_after(calls, made);
    if (HasFatalFailure()) return;
  }
  EXPECT_TRUE(prepare_bpe(made, {}).went_on);
  EXPECT_EQ(out("train.bin"), tokens_of(split_in_python(text).train));
  EXPECT_EQ(out("val.bin"), tokens_of(split_in_python(text).val));
}

// Files of this process may not grow further; a full disk is told in the same way.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t byte_count) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{byte_count, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(PrepareTest, AFullDiskKeepsWhatItSaysItKeeps) {
  folder_.write("text", some_text(4 * kMegabyte, 4));
  BpeOptions made = options({"text"}, DocumentKind::kLine);
  made.val_share = 0.1;
  made.thread_count = 1;
  made.directory = folder_.path() / "whole";
  prepare_bpe(made, {});
  made.directory = folder_.path() / "out";
  const auto told_within = [&](rlim_t byte_count) {
    const FileSizeLimit limit(byte_count);
    return message_of<DeviceError>([&] { prepare_bpe(made, {}); });
  };
  expect_holds(told_within(100'000),
               {"train.bin cannot be written", "nothing of it could be kept"});
  EXPECT_FALSE(std::filesystem::exists(made.directory));
  expect_holds(told_within(1'500'000), {"train.bin cannot be written", "so far is kept"});
  EXPECT_TRUE(prepare_bpe(made, {}).went_on);
  EXPECT_EQ(folder_.read("out/train.bin"), folder_.read("whole/train.bin"));
  EXPECT_FALSE(std::filesystem::exists(made.directory / ".prepare"));
}

// The share is of all inputs, and what an earlier run has done is part of it.
TEST_F(PrepareTest, ProgressGoesOnToo) {
  folder_.write("a", some_text(3 * kMegabyte, 4));
  folder_.write("b", some_text(3 * kMegabyte, 5));
  BpeOptions made = options({"a", "b"}, DocumentKind::kLine);
  made.val_share = 0.1;
  made.thread_count = 1;
  message_of<DeviceError>([&] { prepare_bpe(made, stop_after(7)); });
  std::vector<BpeProgress> seen;
  BpeHooks hooks;
  hooks.progress = [&](const BpeProgress& now) { seen.push_back(now); };
  EXPECT_TRUE(prepare_bpe(made, hooks).went_on);
  ASSERT_FALSE(seen.empty());
  EXPECT_GE(seen.front().taken_bytes, static_cast<std::int64_t>(3 * kMegabyte));
  const auto all = static_cast<std::int64_t>(folder_.read("a").size() + folder_.read("b").size());
  EXPECT_EQ(seen.back().taken_bytes, all);
  EXPECT_EQ(seen.back().total_bytes, all);
}

// A pipe can be read once only; a text that is cut by characters is read twice.
TEST_F(PrepareTest, APipeIsPreparedLikeTheFile) {
  const std::string text = some_text(2 * kMegabyte + 99, 12);
  const PythonSplit expected = split_in_python(text);
  for (const std::string& bytes : {text, gzipped(text)}) {
    const std::string pipe = (folder_.path() / "pipe").string();
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << bytes; });
    std::vector<BpeProgress> seen;
    BpeHooks hooks;
    hooks.progress = [&](const BpeProgress& now) { seen.push_back(now); };
    const BpeSummary summary = prepare_bpe(whole_text("pipe"), hooks);
    writer.join();
    EXPECT_FALSE(summary.went_on);
    EXPECT_EQ(out("train.bin"), tokens_of(expected.train));
    EXPECT_EQ(out("val.bin"), tokens_of(expected.val));
    EXPECT_EQ(seen.back().total_bytes, static_cast<std::int64_t>(bytes.size()));
    std::filesystem::remove(pipe);
    EXPECT_EQ(folder_.list(), (std::vector<std::string>{"out", "out/train.bin", "out/val.bin"}));
  }
}

TEST_F(PrepareTest, StartsOverWhenTheInputHasChanged) {
  folder_.write("text", some_text(4 * kMegabyte));
  BpeOptions made = whole_text("text");
  made.thread_count = 1;
  message_of<DeviceError>([&] { prepare_bpe(made, stop_after(5 + 4)); });
  const std::string other = some_text(4 * kMegabyte + 3, 8);
  folder_.write("text", other);
  EXPECT_FALSE(prepare_bpe(made, {}).went_on);
  EXPECT_EQ(out("val.bin"), tokens_of(split_in_python(other).val));
}

TEST_F(PrepareTest, BatchesAreTheSameFromAnyStart) {
  folder_.write("text", some_text(5 * kMegabyte));
  for (const DocumentKind kind : {DocumentKind::kFile, DocumentKind::kLine}) {
    const BpeOptions made = options({"text"}, kind);
    std::vector<TextBatch> all;
    BatchReader reader(made, {}, 0);
    while (auto batch = reader.next()) all.push_back(std::move(*batch));
    ASSERT_GT(all.size(), 4u);
    for (std::size_t i = 0; i < all.size(); ++i) {
      BatchReader later(made, all[i].start, all[i].number);
      const auto again = later.next();
      ASSERT_TRUE(again);
      EXPECT_EQ(again->text.size(), all[i].text.size());
      EXPECT_EQ(again->end.line, all[i].end.line);
    }
  }
}

}  // namespace
}  // namespace snug::prepare
