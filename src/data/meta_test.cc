#include "data/meta.h"

#include <gtest/gtest.h>

#include "base/test_directory.h"
#include "data/char_tokenizer.h"
#include "pickle/pickle_testing.h"
#include "pickle/writer.h"

namespace snug::data {
namespace {

std::string read_error(std::string_view pickle) {
  const TestDirectory dir;
  dir.write("meta.pkl", pickle);
  return message_of<DataError>([&] { read_meta(dir.path()); });
}

using Fill = void (*)(pickle::PickleWriter&);

std::string dict_of(Fill fill) {
  pickle::PickleWriter writer;
  writer.begin_dict();
  fill(writer);
  writer.end_dict();
  return writer.finish();
}

TEST(Meta, ComesBackAsItWasWritten) {
  const TestDirectory dir;
  Meta meta = make_meta({"\n", "a", "\xC3\xA9", "\xF0\x9F\x98\x80"});
  write_meta(dir.path(), meta);
  std::optional<Meta> back = read_meta(dir.path());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->vocab_size, 4);
  EXPECT_EQ(back->itos, meta.itos);
  EXPECT_EQ(back->stoi, meta.stoi);
  EXPECT_EQ(back->stoi.at("\xC3\xA9"), 2);
  EXPECT_EQ(back->entropy_floor, std::nullopt);
  meta.entropy_floor = 0.625;
  write_meta(dir.path(), meta);
  EXPECT_EQ(read_meta(dir.path())->entropy_floor, 0.625);
  EXPECT_EQ(dir.list(), (std::vector<std::string>{"meta.pkl"}));
}

TEST(Meta, ReadsWhatPythonWrote) {
  const TestDirectory dir;
  // pickle.dumps({'vocab_size': 2, 'itos': {0: 'a', 1: 'b'}, 'stoi': {'a': 0, 'b': 1}})
  dir.write("meta.pkl",
            pickle::from_hex(
                "8004953e000000000000007d94288c0a766f6361625f73697a65944b028c0469746f73947d94284b"
                "008c0161944b018c016294758c0473746f69947d942868044b0068054b0175752e"));
  const std::optional<Meta> meta = read_meta(dir.path());
  ASSERT_TRUE(meta);
  EXPECT_EQ(meta->itos, (std::vector<std::string>{"a", "b"}));
}

TEST(Meta, MayBeMissingOrHoldOnlyTheSize) {
  const TestDirectory dir;
  EXPECT_FALSE(read_meta(dir.path()));
  EXPECT_FALSE(read_meta(dir.path() / "nowhere"));
  dir.write("meta.pkl", dict_of([](pickle::PickleWriter& w) {
              w.text("vocab_size");
              w.integer(50304);
            }));
  const std::optional<Meta> meta = read_meta(dir.path());
  EXPECT_EQ(meta->vocab_size, 50304);
  EXPECT_THROW(CharTokenizer{*meta}, DataError);
}

TEST(Meta, RefusesABadVocabSize) {
  expect_holds(read_error("N."), {"meta.pkl", "wanted a dict, found a None"});
  expect_holds(read_error("}."), {"has no vocab_size", "snug prepare"});
  expect_holds(read_error("}U\nvocab_sizeNs."), {"must be an int and is a None"});
  expect_holds(read_error("}U\nvocab_size\x88s."), {"is a bool"});
  expect_holds(read_error("}U\nvocab_sizeI0\ns."), {"and is 0"});
  expect_holds(read_error("}U\nvocab_sizeI-5\ns."), {"and is -5"});
  expect_holds(read_error("}U\nvocab_sizeI4294967296\ns."), {"and is 4,294,967,296"});
}

TEST(Meta, RefusesTablesThatContradict) {
  const std::string size2 = "}(U\nvocab_sizeK\x02", itos = "U\x04itos", stoi = "U\x04stoi";
  const auto with = [&](const std::string& rest) { return read_error(size2 + rest + "u."); };
  using std::string_literals::operator""s;
  const std::string good = itos + "}(K\0U\x01"s + "aK\x01U\x01"s + "bu";
  expect_holds(with(itos + "N"), {"itos must be a dict and is a None"});
  expect_holds(with(itos + "}(K\0U\x01"s + "au"), {"vocab_size is 2, but itos has 1"});
  expect_holds(with(itos + "}(K\0U\x01"s + "aK\x02U\x01"s + "bu"), {"itos has the id 2"});
  expect_holds(with(itos + "}(K\0U\x01"s + "aK\0U\x01"s + "bu"), {"the id 0 twice"});
  expect_holds(with(itos + "}(K\0U\x01"s + "aK\x01U\x01"s + "au"), {"the same text"});
  expect_holds(with(itos + "}(K\0NK\x01Nu"s), {"int to str and has int to None"});
  expect_holds(with(good + stoi + "N"), {"stoi must be a dict"});
  expect_holds(with(good + stoi + "}"), {"itos has 2 entries and stoi 0"});
  expect_holds(with(good + stoi + "}(U\x01"s + "aK\x01U\x01"s + "bK\0u"s), {"disagree"});
  expect_holds(with(good + stoi + "}(NNU\x01"s + "bK\0u"s), {"str to int and has None"});
  expect_holds(with(good + "U\x10"s + "entropy_per_charN"), {"entropy_per_char"});
}

TEST(Meta, RefusesAMetaThatIsAFolder) {
  const TestDirectory dir;
  dir.write("meta.pkl/x", "");
  expect_holds(message_of<DataError>([&] { read_meta(dir.path()); }), {"is a folder"});
}

TEST(CharTokenizer, EncodesCharactersNotBytes) {
  const CharTokenizer tokenizer(make_meta({"\n", "a", "\xC3\xA9", "\xF0\x9F\x98\x80"}));
  const std::string text =
      "a\xC3\xA9\n\xF0\x9F\x98\x80"
      "a";
  const std::vector<std::int32_t> ids = tokenizer.encode(text);
  EXPECT_EQ(ids, (std::vector<std::int32_t>{1, 2, 0, 3, 1}));
  EXPECT_EQ(tokenizer.decode(ids), text);
  EXPECT_TRUE(tokenizer.encode("").empty());
}

TEST(CharTokenizer, NamesWhatItCannotEncode) {
  const CharTokenizer tokenizer(make_meta({"\n", "a", "b"}));
  const auto encode_error = [&](const char* text) {
    return message_of<DataError>([&] { tokenizer.encode(text); });
  };
  expect_holds(encode_error("ab\xC3\xA9"),
               {"'\xC3\xA9' (U+00E9) at byte 2", "vocabulary of 3", "it knows: ab\n"});
  expect_holds(encode_error("ab\tb"), {"U+0009 at byte 2"});
  expect_holds(encode_error("aa\xFF"), {"not UTF-8: byte 0xFF at offset 2"});
  expect_holds(encode_error("aab\xE2\x82"), {"byte 0xE2 at offset 3"});
  const std::vector<std::int32_t> bad{0, 3};
  expect_holds(message_of<DataError>([&] { tokenizer.decode(bad); }), {"the id 3", "of 3"});
  EXPECT_THROW(tokenizer.decode(std::vector<std::int32_t>{-1}), DataError);
}

}  // namespace
}  // namespace snug::data
