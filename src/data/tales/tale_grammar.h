// The grammar of the tales: rules with weighted alternatives, written in a small notation.
//
// A rule is "@name" and then its alternatives, separated by " / ", "3*" before one giving it three
// times the weight. In an alternative stand plain text, \n, and
//   <rule>    something written by that rule        <x=rule>  the same, remembered as x
//   [x]       what x was                            [x.he]    he or she (his, him, He, His, ...)
//   <a rule>, <a x=rule>, [a x]  with "a" or "an" before it, as its first letter wants
// "~f" at the end of an alternative makes what is remembered a she. A rule that is remembered never
// writes what is already remembered in the same tale: friends have different names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace snug::data::tales {

struct TalePiece {
  enum class Kind : std::uint8_t { kText, kExpand, kRecall };

  Kind kind = Kind::kText;
  bool article = false;  // "a " or "an " comes first
  std::size_t rule = 0;  // kExpand: index into TaleGrammar::rules
  std::string text;      // kText
  std::string variable;  // kExpand: what to remember it as, or empty; kRecall: what to write
  std::string pronoun;   // kRecall: the masculine form to write instead, or empty
};

struct TaleAlternative {
  std::uint64_t weight = 1;
  bool feminine = false;
  std::vector<TalePiece> pieces;

  // The text, when there is nothing else in it; otherwise empty.
  std::string_view plain_text() const;
};

struct TaleRule {
  std::string name;
  std::vector<TaleAlternative> alternatives;
};

struct TaleGrammar {
  std::vector<TaleRule> rules;  // a tale is written by the first
};

// Throws InternalError, naming the rule, for text that is not such a grammar: it is our own.
TaleGrammar parse_tale_grammar(std::string_view text);

// The grammar of the built-in tales.
std::string tale_grammar_text();

// "a" or "an" for what begins with `word`.
std::string_view article_for(std::string_view word) noexcept;

// "he" and its forms as they are, or their feminine.
std::string_view pronoun_for(std::string_view masculine, bool feminine);

// What a tale has remembered so far.
struct TaleMemory {
  struct Entry {
    std::string variable, text;
    bool feminine = false;
  };
  std::vector<Entry> entries;

  // The latest entry of that name; throws InternalError when there is none.
  const Entry& get(std::string_view variable) const;
  bool holds_text(std::string_view text) const noexcept;
};

}  // namespace snug::data::tales
