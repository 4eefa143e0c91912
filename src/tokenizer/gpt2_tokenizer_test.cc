#include "tokenizer/gpt2_tokenizer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/test_directory.h"

namespace snug::tokenizer {
namespace {

using Ids = std::vector<std::int32_t>;

const Gpt2Tokenizer& gpt2() {
  static const Gpt2Tokenizer tokenizer;
  return tokenizer;
}

std::vector<std::uint16_t> encoded(std::string_view text) {
  std::vector<std::uint16_t> ids;
  gpt2().make_encoder().encode(text, ids);
  return ids;
}

// Ids that tiktoken gives; bench/tokenizer_check.py compares many more.
TEST(Gpt2Tokenizer, GivesOpenAisIds) {
  EXPECT_EQ(gpt2().encode("Hello world"), (Ids{15496, 995}));
  EXPECT_EQ(gpt2().encode(""), Ids{});
  EXPECT_EQ(gpt2().encode("First Citizen:\nBefore we proceed any further, hear me speak.\n\n"),
            (Ids{5962, 22307, 25, 198, 8421, 356, 5120, 597, 2252, 11, 3285, 502, 2740, 13, 628}));
  EXPECT_EQ(gpt2().encode("\u4F60\u597D, \U0001F600!"),
            (Ids{19526, 254, 25001, 121, 11, 30325, 222, 0}));
  EXPECT_EQ(gpt2().encode(std::string("\x00\x01\xFF", 3)), (Ids{188, 189, 187}));
}

TEST(Gpt2Tokenizer, EndOfTextIsAsked) {
  EXPECT_EQ(gpt2().encode("a<|endoftext|>b"), (Ids{64, 50256, 65}));
  EXPECT_EQ(encoded("a<|endoftext|>").size(), 8u);
  EXPECT_EQ(gpt2().decode(Ids{64, 50256}), "a<|endoftext|>");
}

TEST(Gpt2Tokenizer, EveryTokenIsEncodedAsItself) {
  // With this a merge is known by its result, and the two ways of writing BPE down, by pairs and by
  // results, are the same.
  const Gpt2Vocabulary& vocabulary = gpt2().vocabulary();
  Merger merger(vocabulary);
  for (std::int32_t id = 0; id < Gpt2Vocabulary::kEndOfText; ++id) {
    std::vector<std::uint16_t> ids;
    merger.merge(vocabulary.bytes_of(id), ids);
    ASSERT_EQ(ids, std::vector<std::uint16_t>{static_cast<std::uint16_t>(id)});
  }
}

TEST(Gpt2Tokenizer, VocabularyIsWrittenAsGpt2WritesIt) {
  const Gpt2Vocabulary& vocabulary = gpt2().vocabulary();
  EXPECT_EQ(vocabulary.printable(0), "!");
  EXPECT_EQ(vocabulary.printable(262), "\u0120the");
  EXPECT_EQ(vocabulary.bytes_of(262), " the");
  EXPECT_EQ(vocabulary.printable(50255), "\u0120gazed");
  EXPECT_EQ(vocabulary.printable(198), "\u010A");
  EXPECT_EQ(vocabulary.bytes_of(50256), "<|endoftext|>");
  EXPECT_EQ(Gpt2Vocabulary::merges_text().size(), 456318u);
  EXPECT_EQ(Gpt2Vocabulary::merges_text().substr(0, 21), "#version: 0.2\n\u0120 t\n\u0120");
}

TEST(Gpt2Tokenizer, AnyBytesComeBack) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    std::string text;
    for (std::size_t k = random() % 3000; k > 0; --k) text += static_cast<char>(random());
    ASSERT_EQ(gpt2().decode(gpt2().encode(text)), text);
  }
}

TEST(Gpt2Tokenizer, RefusesAnIdThatIsNone) {
  expect_holds(message_of<DataError>([] { (void)gpt2().decode(Ids{50257}); }), {"50257", "50256"});
  expect_holds(message_of<DataError>([] { (void)gpt2().decode(Ids{-1}); }), {"-1"});
}

// GPT-2's own algorithm: the best pair is merged wherever it stands, then the next best.
std::vector<std::uint16_t> merged_slowly(std::string_view piece) {
  const Gpt2Vocabulary& vocabulary = gpt2().vocabulary();
  std::vector<std::uint16_t> ids;
  for (const char c : piece) ids.push_back(vocabulary.id_of_byte(static_cast<std::uint8_t>(c)));
  for (;;) {
    std::uint32_t best = PairTable::kNoMerge;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      best = std::min(best, vocabulary.pairs().merged(ids[i], ids[i + 1]));
    }
    if (best == PairTable::kNoMerge) return ids;
    std::vector<std::uint16_t> next;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const bool merges =
          i + 1 < ids.size() && vocabulary.pairs().merged(ids[i], ids[i + 1]) == best;
      next.push_back(merges ? static_cast<std::uint16_t>(best) : ids[i]);
      if (merges) ++i;
    }
    ids = std::move(next);
  }
}

TEST(Merger, LongAndShortPiecesAreMergedByRank) {
  std::mt19937 random(4);
  Merger merger(gpt2().vocabulary());
  const std::string letters = "aaaabehinorst";
  for (const std::size_t length : {1, 2, 3, 8, 63, 64, 65, 66, 130, 700}) {
    for (int i = 0; i < 40; ++i) {
      std::string piece;
      while (piece.size() < length) piece += letters[random() % letters.size()];
      if (i % 4 == 0) piece.assign(length, 'a');
      if (i % 4 == 1) {
        for (char& c : piece) c = static_cast<char>(random());
      }
      std::vector<std::uint16_t> ids;
      merger.merge(piece, ids);
      ASSERT_EQ(ids, merged_slowly(piece)) << ::testing::PrintToString(piece);
    }
  }
}

TEST(Merger, AMegabyteOfOneLetter) {
  const std::string text(1 << 20, 'a');
  const auto ids = encoded(text);
  EXPECT_EQ(ids.size(), (1u << 20) / 4);
  EXPECT_EQ(gpt2().decode(Ids(ids.begin(), ids.end())), text);
}

TEST(Encoder, TheCacheChangesNothing) {
  // Many words, so that entries replace each other, at every distance from the text's end.
  std::mt19937 random(5);
  Encoder encoder = gpt2().make_encoder();
  for (int i = 0; i < 300; ++i) {
    std::string text;
    for (std::size_t words = random() % 300; words > 0; --words) {
      text += " ";
      for (std::size_t k = random() % 18; k > 0; --k) text += static_cast<char>('a' + random() % 6);
    }
    std::vector<std::uint16_t> ids;
    encoder.encode(text, ids);
    ASSERT_EQ(ids, encoded(text)) << text;
  }
}

}  // namespace
}  // namespace snug::tokenizer
