// What `prepare bpe` refuses, and that nothing is lost then.
#include <gtest/gtest.h>

#include "base/error.h"
#include "prepare/batch_reader.h"
#include "prepare/inputs.h"
#include "prepare/prepare_for_test.h"

namespace snug::prepare {
namespace {

class BadInput : public PrepareTest {
 protected:
  // Prepares into a folder with an older data set, which must stay.
  std::string refusal(const BpeOptions& options) {
    folder_.write("out/train.bin", "old!");
    folder_.write("out/val.bin", "old!");
    const std::string message = message_of<DataError>([&] { prepare_bpe(options, {}); });
    EXPECT_EQ(folder_.read("out/train.bin"), "old!");
    EXPECT_EQ(folder_.read("out/val.bin"), "old!");
    return message;
  }
  std::string refusal_of_lines(const std::string& lines) {
    folder_.write("x.jsonl", lines);
    return refusal(options({"x.jsonl"}, DocumentKind::kJson));
  }
};

TEST_F(BadInput, BrokenJsonLinesAreNamed) {
  expect_holds(refusal_of_lines("{\"text\": \"a\"}\n\n{\"text\": \"b\"\n"),
               {"x.jsonl, line 3", "not JSON", "--skip-bad"});
  expect_holds(refusal_of_lines("{\"text\": 5}\n"),
               {"line 1", "field \"text\"", "number", "string"});
  expect_holds(refusal_of_lines("{\"content\": \"a\", \"url\": \"b\"}\n"),
               {"line 1", "no field \"text\"", "content, url", "--field="});
  expect_holds(refusal_of_lines("[1, 2]\n"), {"line 1", "array", "not an object"});
  expect_holds(refusal_of_lines("{\"text\": \"\\ud800\"}\n"), {"line 1", "not JSON"});
  expect_holds(refusal_of_lines("{\"text\": \"\xff\"}\n"), {"line 1", "not JSON"});
  expect_holds(refusal_of_lines(std::string(100'000, '[') + "\n"), {"line 1", "not JSON"});
}

TEST_F(BadInput, BadLinesCanBeSkippedAndAreCounted) {
  std::string lines;
  for (int i = 0; i < 400; ++i) {
    lines += i % 100 == 7 ? "{\"text\": \n" : "{\"n\": 1, \"body\": \"caf\\u00e9 \\n\"}\n";
  }
  folder_.write("x.jsonl", lines);
  BpeOptions made = options({"x.jsonl"}, DocumentKind::kJson);
  made.field = "body";
  made.skip_bad_lines = true;
  made.val_share = 0.2;
  const BpeSummary summary = prepare_bpe(made, {});
  EXPECT_EQ(summary.counts.documents, 396);
  EXPECT_EQ(summary.counts.bad_lines, 4);
  expect_holds(summary.counts.first_bad_line, {"x.jsonl, line 8"});
  const Tokens one = tokens_of("caf\u00e9 \n", true);
  EXPECT_EQ(summary.train_tokens + summary.val_tokens, static_cast<std::int64_t>(396 * one.size()));
}

TEST_F(BadInput, DamagedPacking) {
  const std::string text = some_text(200'000);
  const std::string gzip = gzipped(text), zstd = zstd_packed(text);
  const auto refused = [&](const std::string& bytes) {
    folder_.write("packed", bytes);
    return refusal(whole_text("packed"));
  };
  expect_holds(refused(gzip.substr(0, gzip.size() / 2)), {"packed", "gzip", "not complete"});
  expect_holds(refused(zstd.substr(0, zstd.size() / 2)), {"packed", "zstd", "not complete"});
  std::string broken = gzip;
  broken[broken.size() / 2] = static_cast<char>(broken[broken.size() / 2] + 1);
  broken[broken.size() / 2 + 1] = static_cast<char>(broken[broken.size() / 2 + 1] + 1);
  expect_holds(refused(broken), {"packed", "gzip", "damaged"});
  broken = zstd;
  for (std::size_t i = 20; i < 200; ++i) broken[i] = static_cast<char>(0xFF);
  expect_holds(refused(broken), {"packed", "zstd", "damaged"});
  expect_holds(refused("PAR1 and so on"), {"packed", "Parquet", "python3 -c", "pyarrow"});
  folder_.write("it's.parquet", "PAR1 and so on");
  expect_holds(message_of<DataError>([&] { open_stream(folder_.path() / "it's.parquet"); }),
               {"if t]\" '", "/it'\\''s.parquet' | snug prepare bpe -"});
  expect_holds(refused("BZh91AY"), {"bzip2", "bzcat"});
  expect_holds(refused("PK\x03\x04zip zip"), {"zip", "unzip -p"});
  expect_holds(refused("\xFF\xFEh\1i\1"), {"packed", "UTF-16", "iconv -f utf-16"});
}

TEST_F(BadInput, BytesThatAreNotUtf8AreKeptAndCounted) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "na\u00EFve\r\n";
  text[10] = '\xEF';  // in the second line, before what was a second byte
  text.insert(1'500'000, "\xE4\xBD");
  folder_.write("latin", text);
  const BpeSummary summary = prepare_bpe(whole_text("latin"), {});
  EXPECT_EQ(summary.counts.stray_bytes, 2 + 2);
  expect_holds(summary.counts.first_stray, {"latin, byte 11"});
  folder_.write("plain", some_text(100'000));
  EXPECT_EQ(prepare_bpe(whole_text("plain"), {}).counts.stray_bytes, 0);
}

// A refusal leaves neither files nor a folder that looks like a data set.
TEST_F(BadInput, NothingIsLeftBehind) {
  folder_.write("packed", "BZh91AY");
  message_of<DataError>([&] { prepare_bpe(whole_text("packed"), {}); });
  folder_.write("empty", "");
  message_of<DataError>([&] { prepare_bpe(whole_text("empty"), {}); });
  EXPECT_EQ(folder_.list(), (std::vector<std::string>{"empty", "packed"}));
}

TEST_F(BadInput, TextThatLeavesNothing) {
  folder_.write("empty", "");
  expect_holds(refusal(whole_text("empty")), {"no text in", "empty"});
  folder_.write("one", "only one line\n");
  expect_holds(refusal(options({"one"}, DocumentKind::kLine)),
               {"1 document(s)", "val.bin", "--split=characters"});
}

TEST_F(BadInput, WhatCannotBeCutIsNamed) {
  const std::string endless(BatchReader::kMaxUnbrokenBytes + 10, 'a');
  folder_.write("endless", "first\n" + endless);
  expect_holds(refusal(options({"endless"}, DocumentKind::kLine)),
               {"endless, line 2", "16.00 MiB"});
  expect_holds(refusal(whole_text("endless")),
               {"endless", "byte", "a single word of more than 16.00 MiB"});
  const BpeOptions whole = whole_text("endless");
  BatchReader reader(whole, {}, 0, open_stream, 2 * BatchReader::kMaxUnbrokenBytes);
  EXPECT_EQ(reader.next()->text, "first");
  EXPECT_EQ(reader.next()->text, "\n" + endless);
}

TEST_F(BadInput, FoldersWithOtherData) {
  folder_.write("text", some_text(1000));
  folder_.write("out/meta.pkl", "x");
  expect_holds(refusal(whole_text("text")), {"another vocabulary", "meta.pkl"});
  std::filesystem::remove(folder_.path() / "out/meta.pkl");
  BpeOptions shards = whole_text("text");
  shards.format = Format::kLlmc;
  expect_holds(refusal(shards), {"train.bin", "another folder"});
  folder_.write("out/web_train_000001.bin", "x");
  expect_holds(refusal(whole_text("text")), {"shards already"});
}

// The folder of a data set may come from anyone: what a link in it leads to is not ours to remove.
TEST_F(BadInput, ALinkForTheUnfinishedFilesIsRefused) {
  folder_.write("text", some_text(1000));
  folder_.write("precious/mine", "mine");
  std::filesystem::create_directory(folder_.path() / "out");
  std::filesystem::create_directory_symlink(folder_.path() / "precious",
                                            folder_.path() / "out/.prepare");
  const auto prepare = [&] { prepare_bpe(whole_text("text"), {}); };
  expect_holds(message_of<ConfigError>(prepare), {"out/.prepare is a link", "move it away"});
  EXPECT_EQ(folder_.read("precious/mine"), "mine");
  std::filesystem::remove(folder_.path() / "out/.prepare");
  std::filesystem::create_directory(folder_.path() / "out/.prepare");
  std::filesystem::create_hard_link(folder_.path() / "precious/mine",
                                    folder_.path() / "out/.prepare/lock");
  expect_holds(message_of<ConfigError>(prepare), {"lock has another name", "move it away"});
  EXPECT_EQ(folder_.read("precious/mine"), "mine");
}

TEST_F(BadInput, NamesAndPatterns) {
  folder_.write("p-2.txt", "b");
  folder_.write("p-1.txt", "a");
  const std::string folder = folder_.path().string();
  EXPECT_EQ(expand_inputs({folder + "/p-*.txt"}),
            (std::vector<std::string>{folder + "/p-1.txt", folder + "/p-2.txt"}));
  expect_holds(message_of<DataError>([&] { expand_inputs({folder + "/q-*"}); }),
               {"no file matches"});
  expect_holds(message_of<DataError>([&] { expand_inputs({folder + "/q"}); }), {"q is missing"});
  expect_holds(message_of<ConfigError>([&] {
                 expand_inputs({"-", folder + "/p-1.txt"});
               }),
               {"stands alone"});
  EXPECT_EQ(document_kind_of("a.jsonl.gz"), DocumentKind::kJson);
  EXPECT_EQ(document_kind_of("a.txt"), DocumentKind::kFile);
  expect_holds(message_of<DataError>([&] { open_stream(folder); }), {"is a folder"});
}

}  // namespace
}  // namespace snug::prepare
