#include "data/tales/tales.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/bytes.h"
#include "base/error.h"
#include "base/philox.h"
#include "data/char_dataset_writer.h"
#include "data/tales/tale_grammar.h"

namespace snug::data::tales {
namespace {

constexpr std::int64_t kMinDatasetBytes = 10'000;

// (choice, kTales, tale, tale / 2^32): one stream of choices per tale.
constexpr auto kTales = RandomPurpose::kTales;

class TaleWriter {
 public:
  TaleWriter(const TaleGrammar& grammar, std::uint64_t seed, std::string& out)
      : grammar_(grammar), seed_(seed), out_(out) {}

  // Appends tale `number` and returns its -ln p.
  double write(std::int64_t number) {
    tale_ = static_cast<std::uint64_t>(number);
    choice_ = 0;
    nats_ = 0;
    memory_.entries.clear();
    expand(grammar_.rules.front(), "");
    return nats_;
  }

 private:
  std::uint64_t draw_below(std::uint64_t bound) {
    const PhiloxBlock words =
        philox(seed_, {choice_++, static_cast<std::uint32_t>(kTales),
                       static_cast<std::uint32_t>(tale_), static_cast<std::uint32_t>(tale_ >> 32)});
    return uniform_below(words[0], words[1], bound);
  }

  // A text that is to be remembered must differ from those remembered already.
  std::uint64_t weight_of(const TaleAlternative& alternative, bool remembered) const {
    const bool taken = remembered && memory_.holds_text(alternative.plain_text());
    return taken ? 0 : alternative.weight;
  }

  const TaleAlternative& choose(const TaleRule& rule, bool remembered) {
    std::uint64_t total = 0;
    for (const TaleAlternative& each : rule.alternatives) total += weight_of(each, remembered);
    if (total == 0) throw InternalError(fmt::format("the rule {} of tales ran out", rule.name));
    std::uint64_t drawn = draw_below(total);
    for (const TaleAlternative& each : rule.alternatives) {
      const std::uint64_t weight = weight_of(each, remembered);
      if (drawn < weight) {
        nats_ += std::log(static_cast<double>(total) / static_cast<double>(weight));
        return each;
      }
      drawn -= weight;
    }
    throw InternalError("a draw past the end of a rule of tales");
  }

  // Returns whether the alternative taken was feminine.
  bool expand(const TaleRule& rule, const std::string& variable) {
    const TaleAlternative& alternative = choose(rule, !variable.empty());
    for (const TalePiece& piece : alternative.pieces) write_piece(piece);
    return alternative.feminine;
  }

  void write_piece(const TalePiece& piece) {
    const std::size_t begin = out_.size();
    if (piece.kind == TalePiece::Kind::kText) {
      out_ += piece.text;
    } else if (piece.kind == TalePiece::Kind::kRecall) {
      const TaleMemory::Entry& entry = memory_.get(piece.variable);
      out_ += piece.pronoun.empty() ? entry.text : pronoun_for(piece.pronoun, entry.feminine);
    } else {
      const bool feminine = expand(grammar_.rules[piece.rule], piece.variable);
      if (!piece.variable.empty()) {
        memory_.entries.push_back({piece.variable, out_.substr(begin), feminine});
      }
    }
    if (!piece.article) return;
    const std::string article(article_for(std::string_view(out_).substr(begin)));
    out_.insert(begin, article + " ");
  }

  const TaleGrammar& grammar_;
  std::uint64_t seed_;
  std::string& out_;
  std::uint64_t tale_ = 0;
  std::uint32_t choice_ = 0;
  double nats_ = 0;
  TaleMemory memory_;
};

void check_bytes(std::int64_t bytes, std::int64_t min_bytes) {
  if (bytes >= min_bytes && bytes <= kMaxTalesBytes) return;
  throw ConfigError(fmt::format("{} bytes of tales were asked for\nwanted from {} to {}",
                                with_thousands(bytes), with_thousands(min_bytes),
                                with_thousands(kMaxTalesBytes)));
}

}  // namespace

Tales write_tales(std::uint64_t seed, std::int64_t min_bytes, std::int64_t first_tale) {
  check_bytes(min_bytes, 1);
  const TaleGrammar grammar = parse_tale_grammar(tale_grammar_text());
  Tales tales;
  TaleWriter writer(grammar, seed, tales.text);
  double nats = 0;
  while (std::ssize(tales.text) < min_bytes) nats += writer.write(first_tale + tales.tale_count++);
  tales.nats_per_char = nats / static_cast<double>(tales.text.size());
  return tales;
}

TalesSummary prepare_tales(const std::filesystem::path& directory, std::uint64_t seed,
                           std::int64_t bytes) {
  check_bytes(bytes, kMinDatasetBytes);
  const Tales train = write_tales(seed, bytes / 10 * 9);
  const std::int64_t val_bytes = std::max(bytes - std::ssize(train.text), bytes / 20);
  const Tales val = write_tales(seed, val_bytes, train.tale_count);

  std::set<char32_t> characters(train.text.begin(), train.text.end());
  characters.insert(val.text.begin(), val.text.end());
  const std::u32string vocabulary(characters.begin(), characters.end());
  CharDatasetWriter writer(directory, vocabulary);
  bool known = true;
  for (const char character : train.text)
    known &= writer.add_train(static_cast<char32_t>(character));
  for (const char character : val.text) known &= writer.add_val(static_cast<char32_t>(character));
  if (!known) throw InternalError("a character of the tales is not in their vocabulary");
  AtomicFile readable(directory / "tales.txt");
  readable.append(train.text);
  readable.append(val.text);
  readable.stage();
  writer.publish(val.nats_per_char);
  readable.publish();

  TalesSummary summary{{}, train.nats_per_char, val.nats_per_char};
  summary.dataset.train_token_count = std::ssize(train.text);
  summary.dataset.val_token_count = std::ssize(val.text);
  summary.dataset.character_count = std::ssize(train.text) + std::ssize(val.text);
  summary.dataset.vocab_size = std::ssize(vocabulary);
  summary.dataset.vocabulary.assign(vocabulary.begin(), vocabulary.end());
  return summary;
}

}  // namespace snug::data::tales
