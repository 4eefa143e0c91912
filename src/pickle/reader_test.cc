#include "pickle/reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/test_directory.h"
#include "pickle/pickle_testing.h"
#include "pickle/writer.h"

namespace snug::pickle {
namespace {

using std::string_literals::operator""s;

PickleDocument parse(std::string_view bytes) { return parse_pickle(bytes, "test.pkl"); }

std::string parse_error(std::string_view bytes) {
  return message_of<DataError>([&] { parse(bytes); });
}

TEST(PickleReader, ReadsEveryProtocol) {
  for (std::size_t protocol = 0; protocol < kPickleSamples.size(); ++protocol) {
    SCOPED_TRACE(protocol);
    const PickleDocument document = parse(from_hex(kPickleSamples[protocol]));
    const PickleValue root = document.root();
    ASSERT_EQ(root.kind(), PickleKind::kDict);
    EXPECT_EQ(root.find("n")->kind(), PickleKind::kNone);
    EXPECT_EQ(root.find("t")->kind(), PickleKind::kBool);
    EXPECT_EQ(root.find("t")->integer(), 1);
    EXPECT_EQ(root.find("f")->integer(), 0);
    const std::vector<std::int64_t> integers{0,
                                             1,
                                             -1,
                                             255,
                                             256,
                                             65535,
                                             65536,
                                             2147483647,
                                             -2147483648,
                                             2147483648,
                                             std::numeric_limits<std::int64_t>::max(),
                                             std::numeric_limits<std::int64_t>::min()};
    ASSERT_EQ(root.find("i")->size(), integers.size());
    for (std::size_t i = 0; i < integers.size(); ++i) {
      EXPECT_EQ(root.find("i")->item(i).integer(), integers[i]);
    }
    EXPECT_EQ(root.find("r")->item(0).real(), 0.1);
    EXPECT_EQ(root.find("r")->item(1).real(), -1e-5);
    EXPECT_TRUE(std::isinf(root.find("r")->item(2).real()));
    EXPECT_EQ(root.find("s")->text(), "caf\xC3\xA9 \xF0\x9F\x98\x80 \\ \n");
    for (std::size_t count = 0; count <= 4; ++count) {
      const PickleValue tuple = *root.find("euvwx"s.substr(count, 1));
      EXPECT_EQ(tuple.kind(), PickleKind::kTuple);
      ASSERT_EQ(tuple.size(), count);
      if (count > 0) {
        EXPECT_EQ(tuple.item(count - 1).integer(), static_cast<std::int64_t>(count));
      }
    }
    EXPECT_EQ(root.find("d")->size(), 0u);
    EXPECT_EQ(root.find("l")->size(), 0u);
    if (protocol >= 3) {
      EXPECT_EQ(root.find("b")->text(), "\x00\xFF"s);
    }
    if (protocol >= 4) {
      EXPECT_EQ(root.find("z")->item(0).integer(), 7);
    }
    EXPECT_EQ(root.find("missing"), std::nullopt);
  }
}

TEST(PickleReader, ReadsTheOldestSpellings) {
  EXPECT_EQ(parse("S'it\\'s \\x41\\n\\101'\n.").root().text(), "it's A\nA");
  EXPECT_EQ(parse("U\x03"s + "abc.").root().text(), "abc");
  EXPECT_EQ(parse("U\x01\xFF.").root().kind(), PickleKind::kBytes);
  EXPECT_EQ(parse("V\\\\u0041\\u0042\n.").root().text(), "\\\\u0041B");
  EXPECT_EQ(parse("(I1\nI2\nd.").root().value(0).integer(), 2);
  EXPECT_EQ(parse("(I1\nI2\nl0I5\n.").root().integer(), 5);
  EXPECT_EQ(parse("I1\nI2\n(I3\n10.").root().integer(), 1);
  EXPECT_EQ(parse("K\x05"
                  "2\x86.")
                .root()
                .size(),
            2u);
  EXPECT_EQ(parse("\x8A\x00."s).root().integer(), 0);
  EXPECT_EQ(parse("\x8A\x0A\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF.").root().integer(), -2);
  EXPECT_EQ(parse("(K\x01K\x02\x91.").root().kind(), PickleKind::kSet);
}

TEST(PickleReader, OfEqualKeysTheLastCounts) {
  EXPECT_EQ(parse("}(U\x01"s + "aK\x01U\x01"s + "aK\x02u.").root().find("a")->integer(), 2);
}

// Each of these opcodes can import, call or fetch something.
TEST(PickleReader, RefusesEveryOpcodeThatCouldRunCode) {
  const std::vector<std::pair<std::string, const char*>> cases{
      {"cos\nsystem\n(U\x02lstR.", "GLOBAL"},
      {"\x8C\x02os\x8C\x06system\x93.", "STACK_GLOBAL"},
      {")R.", "REDUCE"},
      {"}b.", "BUILD"},
      {"(ios\nsystem\n.", "INST"},
      {"(o.", "OBJ"},
      {")\x81.", "NEWOBJ"},
      {")}\x92.", "NEWOBJ_EX"},
      {"\x82\x01.", "EXT1"},
      {"\x83\x01\x01.", "EXT2"},
      {"\x84\x01\x01\x01\x01.", "EXT4"},
      {"P1\n.", "PERSID"},
      {"K\x01Q.", "BINPERSID"},
      {"\x97.", "NEXT_BUFFER"},
      {"\x98.", "READONLY_BUFFER"}};
  for (const auto& [bytes, opcode] : cases) {
    expect_holds(parse_error("\x80\x04" + bytes), {"test.pkl", opcode, "is refused", "(byte "});
  }
}

TEST(PickleReader, RefusesNonsense) {
  const std::vector<std::pair<std::string, const char*>> cases{
      {"", "cut off"},
      {".", "a value is wanted"},
      {"N", "cut off"},
      {"\xFF.", "0xFF is no opcode"},
      {"\x80\x06N.", "protocol 6"},
      {"X\xFF\xFF\xFF\xFFx.", "4294967295 more bytes wanted, 2 left"},
      {"\x8D\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFFx.", "cut off"},
      {"\x8E\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7Fx.", "cut off"},
      {"\x8B\xFF\xFF\xFF\xFF\x01.", "cut off"},
      {"\x95\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFFN.", "within a frame"},
      {"\x8C\x01\xFF.", "not UTF-8"},
      {"\x8A\x09\x01\x01\x01\x01\x01\x01\x01\x01\x01.", "64 bits"},
      {"\x8A\x09\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x00."s, "64 bits"},
      {"L99999999999999999999L\n.", "64 bits"},
      {"Iabc\n.", "integer"},
      {"I12", "cut off within a line"},
      {"Fabc\n.", "a float"},
      {"V\\ud83d\n.", "valid escapes"},
      {"V\\u12\n.", "valid escapes"},
      {"S'open\n.", "quoted"},
      {"S'\\xZZ'\n.", "quoted"},
      {"h\x05.", "memo 5 was never written"},
      {"g-1\n.", "memo index"},
      {"q\x01.", "a value is wanted"},
      {"e.", "a mark is wanted"},
      {"K\x01(a.", "values are wanted"},
      {"}K\x01"
       "a.",
       "a list is wanted where a dict is"},
      {"](K\x01u.", "a dict is wanted"},
      {"}(K\x01u.", "a key without a value"},
      {"}(]Nu.", "a list cannot be a key"},
      {"\x8F(}\x90.", "a dict cannot be a key"},
      {"(N.", "inside a container"},
      {"2.", "a value is wanted"}};
  for (const auto& [bytes, reason] : cases) expect_holds(parse_error(bytes), {"test.pkl", reason});
}

TEST(PickleReader, RefusesWhatContainsItself) {
  expect_holds(parse_error("]q\x01h\x01"
                           "a."),
               {"contains itself"});
  expect_holds(parse_error("}q\x01U\x01kh\x01s."), {"contains itself"});
  expect_holds(parse_error("]q\x01(h\x01th\x01\x86"
                           "a."),
               {"contains itself"});
  expect_holds(parse_error("]q\x01((h\x01h\x01te."), {"contains itself"});
}

TEST(PickleReader, RefusesBombs) {
  // Every tuple holds the one before it twice: 2^40 leaves in 80 bytes.
  std::string doubling = "N";
  for (int i = 0; i < 40; ++i) doubling += "2\x86";
  expect_holds(parse_error(doubling + "."), {"too many values"});
  EXPECT_EQ(parse("N" + doubling.substr(1, 40) + ".").root().size(), 2u);  // 2^20 is allowed

  const std::string deep = "N" + std::string(200, '\x85') + ".";
  expect_holds(parse_error(deep), {"nested too deeply"});
  expect_holds(parse_error("N" + std::string(2'000'000, '\x85') + "."), {"more than"});
  expect_holds(parse_error(std::string(2'000'000, 'N') + "."), {"more than 1,048,576 values"});
  expect_holds(parse_error("N" + std::string(5'000'000, '2') + "."), {"on the stack"});
  expect_holds(parse_error(std::string(5'000'000, '(')), {"too many marks"});

  std::string append = "]q\x01Nq\x02" + "0"s;
  for (int i = 0; i < 2'200'000; ++i)
    append +=
        "h\x02"
        "a";
  expect_holds(parse_error(append + "."), {"hold too many values"});
}

TEST(PickleReader, KeepsItsMemoSmall) {
  std::string memo = "N";
  for (std::uint32_t i = 0; i < 1'100'000; ++i) {
    memo += 'r';
    for (int shift = 0; shift < 32; shift += 8) memo += static_cast<char>((i * 4001) >> shift);
  }
  expect_holds(parse_error(memo + "."), {"memo is too big"});
}

TEST(PickleReader, RefusesFilesTooLarge) {
  const TestDirectory dir;
  const auto path = dir.write("meta.pkl", "N.");
  EXPECT_EQ(read_pickle(path).root().kind(), PickleKind::kNone);
  std::filesystem::resize_file(path, PickleLimits::kFileBytes + 1);  // sparse
  expect_holds(message_of<DataError>([&] { read_pickle(path); }), {"8.00 MiB"});
}

TEST(PickleReader, EveryCutThrows) {
  for (const std::string_view sample : kPickleSamples) {
    const std::string bytes = from_hex(sample);
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
      EXPECT_THROW(parse(std::string_view(bytes).substr(0, cut)), DataError) << cut;
    }
  }
}

TEST(PickleWriter, WhatItWritesIsReadBack) {
  PickleWriter writer;
  writer.begin_dict();
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 31,
                                   std::numeric_limits<std::int64_t>::min()}) {
    writer.integer(value);
    writer.real(static_cast<double>(value) / 3);
  }
  writer.text("caf\xC3\xA9");
  writer.begin_dict();
  writer.end_dict();
  writer.end_dict();
  const PickleDocument document = parse(writer.finish());
  const PickleValue root = document.root();
  ASSERT_EQ(root.size(), 5u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(root.value(i).real(), static_cast<double>(root.key(i).integer()) / 3);
  }
  EXPECT_EQ(root.key(3).integer(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(root.find("caf\xC3\xA9")->size(), 0u);
}

TEST(PickleValue, AskingForWhatIsNotThereIsABug) {
  const PickleDocument document = parse("K\x01\x85.");
  const PickleValue root = document.root();
  EXPECT_THROW(root.integer(), InternalError);
  EXPECT_THROW(root.text(), InternalError);
  EXPECT_THROW(root.key(0), InternalError);
  EXPECT_THROW(root.item(1), InternalError);
  EXPECT_THROW(root.item(0).size(), InternalError);
}

}  // namespace
}  // namespace snug::pickle
