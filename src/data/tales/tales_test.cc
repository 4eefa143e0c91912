#include "data/tales/tales.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "base/test_directory.h"
#include "data/char_tokenizer.h"
#include "data/tales/tale_grammar.h"

namespace snug::data::tales {
namespace {

// Finds every derivation of a text, from the text alone: tries all alternatives everywhere and
// follows each as far as it agrees. Shares no code with the writer of tales.
class Scorer {
 public:
  explicit Scorer(const TaleGrammar& grammar) : grammar_(grammar) {}

  struct Result {
    int derivation_count = 0;  // of the whole text or of any beginning of it
    double probability = 0;    // summed over those of the whole text
  };

  Result score(std::string_view text) {
    text_ = text;
    Result result;
    expand(0, false, State{}, [&](const State& end, bool) {
      ++result.derivation_count;
      if (end.at == text.size()) result.probability += std::exp(-end.nats);
    });
    return result;
  }

 private:
  struct State {
    std::size_t at = 0;
    double nats = 0;
    TaleMemory memory;
  };
  using Then = std::function<void(const State&, bool feminine)>;

  void expand(std::size_t rule, bool remembered, const State& state, const Then& then) {
    double total = 0;
    std::vector<const TaleAlternative*> allowed;
    for (const TaleAlternative& each : grammar_.rules[rule].alternatives) {
      if (remembered && state.memory.holds_text(each.plain_text())) continue;
      allowed.push_back(&each);
      total += static_cast<double>(each.weight);
    }
    for (const TaleAlternative* each : allowed) {
      State next = state;
      next.nats -= std::log(static_cast<double>(each->weight) / total);
      follow(*each, 0, next, then);
    }
  }

  void follow(const TaleAlternative& alternative, std::size_t piece, const State& state,
              const Then& then) {
    if (piece == alternative.pieces.size()) return then(state, alternative.feminine);
    const TalePiece& current = alternative.pieces[piece];
    const Then rest = [&](const State& next, bool) { follow(alternative, piece + 1, next, then); };
    if (!current.article) return match(current, state, rest);
    for (const std::string_view article : {"a ", "an "}) {
      State after = state;
      if (!take(after, article)) continue;
      const std::size_t word = after.at;
      match(current, after, [&](const State& next, bool feminine) {
        const bool vowel = std::string_view("aeiou").find(text_[word]) != std::string_view::npos;
        if (vowel == (article == "an ")) rest(next, feminine);
      });
    }
  }

  void match(const TalePiece& piece, const State& state, const Then& then) {
    State next = state;
    if (piece.kind == TalePiece::Kind::kText) {
      if (take(next, piece.text)) then(next, false);
    } else if (piece.kind == TalePiece::Kind::kRecall) {
      const TaleMemory::Entry& entry = state.memory.get(piece.variable);
      const std::string_view word =
          piece.pronoun.empty() ? entry.text : pronoun_for(piece.pronoun, entry.feminine);
      if (take(next, word)) then(next, false);
    } else {
      expand(piece.rule, !piece.variable.empty(), state, [&](const State& end, bool feminine) {
        State bound = end;
        if (!piece.variable.empty()) {
          bound.memory.entries.push_back(
              {piece.variable, std::string(text_.substr(state.at, end.at - state.at)), feminine});
        }
        then(bound, feminine);
      });
    }
  }

  bool take(State& state, std::string_view wanted) const {
    if (!text_.substr(state.at).starts_with(wanted)) return false;
    state.at += wanted.size();
    return true;
  }

  const TaleGrammar& grammar_;
  std::string_view text_;
};

TaleGrammar built_in() { return parse_tale_grammar(tale_grammar_text()); }

// With this, a reader going from left to right knows every choice: derivations are unique.
TEST(TaleGrammar, NoAlternativeBeginsAsAnother) {
  for (const TaleRule& rule : built_in().rules) {
    if (rule.alternatives.size() == 1) continue;
    for (const TaleAlternative& one : rule.alternatives) {
      const TalePiece& lead = one.pieces.front();
      ASSERT_EQ(lead.kind, TalePiece::Kind::kText) << rule.name;
      ASSERT_FALSE(lead.text.empty()) << rule.name;
      for (const TaleAlternative& other : rule.alternatives) {
        if (&one == &other) continue;
        EXPECT_FALSE(other.pieces.front().text.starts_with(lead.text))
            << rule.name << ": '" << lead.text << "' begins another alternative";
      }
    }
  }
}

TEST(TaleGrammar, EveryRuleIsUsed) {
  const TaleGrammar grammar = built_in();
  std::set<std::size_t> used{0};
  for (const TaleRule& rule : grammar.rules) {
    for (const TaleAlternative& alternative : rule.alternatives) {
      for (const TalePiece& piece : alternative.pieces) used.insert(piece.rule);
    }
  }
  for (std::size_t i = 0; i < grammar.rules.size(); ++i) {
    EXPECT_TRUE(used.contains(i)) << grammar.rules[i].name;
  }
}

TEST(TaleGrammar, RefusesWhatItCannotRead) {
  for (const char* bad :
       {"@a\n<nowhere>", "@a\n<open", "@a\nx\n@a\ny", "@a", "@a\n0*x", "@a\nx / 2*"}) {
    EXPECT_THROW(parse_tale_grammar(bad), InternalError) << bad;
  }
  EXPECT_THROW(pronoun_for("it", false), InternalError);
  EXPECT_THROW(TaleMemory{}.get("hero"), InternalError);
}

// An ambiguous grammar shows that the scorer would find a second derivation.
TEST(TaleGrammar, TheScorerSumsOverDerivations) {
  const TaleGrammar grammar = parse_tale_grammar("@s\n<x><x>\n@x\na / 2*aa / b");
  const Scorer::Result result = Scorer(grammar).score("aaa");
  EXPECT_NEAR(result.probability, 2 * 0.25 * 0.5, 1e-12);
  EXPECT_EQ(result.derivation_count, 3);  // aa, a + aa, aa + a
}

TEST(Tales, EachHasOneDerivationAndItsProbabilityIsTheOneCounted) {
  const TaleGrammar grammar = built_in();
  Scorer scorer(grammar);
  for (std::int64_t number = 0; number < 200; ++number) {
    const Tales tale = write_tales(7, 1, number);
    ASSERT_EQ(tale.tale_count, 1);
    const Scorer::Result result = scorer.score(tale.text);
    ASSERT_EQ(result.derivation_count, 1) << tale.text;
    const double nats = tale.nats_per_char * static_cast<double>(tale.text.size());
    ASSERT_NEAR(-std::log(result.probability), nats, 1e-8) << tale.text;
  }
}

TEST(Tales, AreTheTalesOneByOne) {
  const Tales all = write_tales(3, 20'000);
  EXPECT_GE(all.text.size(), 20'000u);
  std::string joined;
  double nats = 0;
  for (std::int64_t number = 0; number < all.tale_count; ++number) {
    const Tales tale = write_tales(3, 1, number);
    joined += tale.text;
    nats += tale.nats_per_char * static_cast<double>(tale.text.size());
  }
  EXPECT_EQ(joined, all.text);
  EXPECT_NEAR(nats, all.nats_per_char * static_cast<double>(all.text.size()), 1e-6);
  EXPECT_NE(write_tales(4, 20'000).text, all.text);
}

// Weights are honoured: "Once upon a time" has 4 of 13, its count within 5 standard deviations.
TEST(Tales, ChoicesFollowTheirWeights) {
  const Tales tales = write_tales(5, kDefaultTalesBytes);
  int count = 0;
  const std::string wanted = "\nOnce upon a time, ";
  for (std::size_t at = 0; (at = tales.text.find(wanted, at)) != std::string::npos; ++at) ++count;
  const double share = 4.0 / 13;
  const auto trials = static_cast<double>(tales.tale_count);
  EXPECT_NEAR(count, trials * share, 5 * std::sqrt(trials * share * (1 - share)));
}

TEST(Tales, AreCleanEnglish) {
  const std::string text = write_tales(1337, 300'000).text;
  for (const char character : text) {
    ASSERT_TRUE(character == '\n' || (character >= ' ' && character <= '~')) << int{character};
  }
  for (const char* flaw :
       {"  ", " \n", "\n ", "..",   ",,",   " ,",   " .",   "<",    ">", "[",
        "]",  "~",   "*",   " a a", " a e", " a i", " a o", " a u", "/", "\n\n\n"}) {
    EXPECT_EQ(text.find(flaw), std::string::npos) << "'" << flaw << "'";
  }
  for (std::size_t at = text.find(" an "); at != std::string::npos;
       at = text.find(" an ", at + 1)) {
    ASSERT_NE(std::string_view("aeiou").find(text[at + 4]), std::string_view::npos)
        << text.substr(at, 20);
  }
}

TEST(Tales, HaveAFloorASmallModelCanApproach) {
  const Tales tales = write_tales(1337, 300'000);
  RecordProperty("nats_per_char", std::to_string(tales.nats_per_char));
  EXPECT_GT(tales.nats_per_char, 0.15);
  EXPECT_LT(tales.nats_per_char, 0.9);
}

TEST(Tales, RefuseSizesTheyCannotHave) {
  EXPECT_THROW(write_tales(1, 0), ConfigError);
  EXPECT_THROW(write_tales(1, kMaxTalesBytes + 1), ConfigError);
  const TestDirectory dir;
  expect_holds(message_of<ConfigError>([&] { prepare_tales(dir.path(), 1, 9'999); }),
               {"9,999 bytes", "from 10,000"});
  EXPECT_TRUE(dir.list().empty());
}

TEST(PrepareTales, ValIsWholeTalesWithTheirOwnFloor) {
  const TestDirectory dir;
  const TalesSummary summary = prepare_tales(dir.path() / "tales", 11, 60'000);
  const std::optional<Meta> meta = read_meta(dir.path() / "tales");
  ASSERT_TRUE(meta);
  EXPECT_EQ(meta->entropy_floor, summary.val_nats_per_char);
  EXPECT_EQ(meta->vocab_size, summary.dataset.vocab_size);
  EXPECT_EQ(std::ssize(summary.dataset.vocabulary), summary.dataset.vocab_size);

  const auto text_of = [&](const char* name) {
    const std::string bytes = dir.read(std::string("tales/") + name);
    std::vector<std::int32_t> ids;
    for (std::size_t i = 0; i < bytes.size(); i += 2) ids.push_back(bytes[i]);
    return CharTokenizer(*meta).decode(ids);
  };
  const std::string train = text_of("train.bin"), val = text_of("val.bin");
  EXPECT_EQ(train + val, dir.read("tales/tales.txt"));
  EXPECT_EQ(std::ssize(train), summary.dataset.train_token_count);
  EXPECT_EQ(std::ssize(val), summary.dataset.val_token_count);
  EXPECT_NEAR(static_cast<double>(train.size()) / 60'000, 0.9, 0.03);

  const TaleGrammar grammar = built_in();
  Scorer scorer(grammar);
  double nats = 0;
  for (std::size_t at = 0; at < val.size();) {
    const std::size_t end = val.find("\n\n", at) + 2;
    nats -= std::log(scorer.score(std::string_view(val).substr(at, end - at)).probability);
    at = end;
  }
  EXPECT_NEAR(nats / static_cast<double>(val.size()), *meta->entropy_floor, 1e-9);
}

}  // namespace
}  // namespace snug::data::tales
