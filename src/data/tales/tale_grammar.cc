#include "data/tales/tale_grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "base/error.h"

namespace snug::data::tales {
namespace {

constexpr std::string_view kBlank = " \n";

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(trim(text.substr(0, at)));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + separator.size());
  }
}

// Lines joined by one blank; none around the escape \n, which becomes a line end.
std::string normalise(std::string_view body) {
  std::string joined;
  for (const std::string_view line : split(body, "\n")) {
    if (!joined.empty()) joined += ' ';
    joined += line;
  }
  std::string out;
  for (const std::string_view part : split(joined, "\\n")) {
    if (part.data() != joined.data()) out += '\n';
    out += part;
  }
  return out;
}

class GrammarParser {
 public:
  explicit GrammarParser(std::string_view text) {
    for (const std::string_view block : split(text, "@")) {
      if (block.empty()) continue;
      const std::size_t name_end = block.find('\n');
      if (name_end == std::string_view::npos) throw InternalError("a rule of tales without a body");
      const std::string name(trim(block.substr(0, name_end)));
      if (!indices_.emplace(name, bodies_.size()).second) {
        throw InternalError(fmt::format("the rule {} of tales stands twice", name));
      }
      bodies_.emplace_back(name, normalise(block.substr(name_end)));
    }
  }

  TaleGrammar parse() {
    TaleGrammar grammar;
    for (const auto& [name, body] : bodies_) {
      rule_ = name;
      TaleRule& rule = grammar.rules.emplace_back(TaleRule{name, {}});
      std::string_view rest = body;
      while (true) {
        const std::size_t end = rest.find(" / ");
        rule.alternatives.push_back(parse_alternative(rest.substr(0, end)));
        if (end == std::string_view::npos) break;
        rest.remove_prefix(end + 3);
      }
    }
    return grammar;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw InternalError(fmt::format("the rule {} of tales: {}", rule_, what));
  }

  TaleAlternative parse_alternative(std::string_view text) const {
    TaleAlternative alternative;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, alternative.weight);
    if (error == std::errc() && stop != end && *stop == '*') {
      text.remove_prefix(static_cast<std::size_t>(stop + 1 - text.data()));
    } else {
      alternative.weight = 1;
    }
    alternative.feminine = text.ends_with("~f");
    if (alternative.feminine) text.remove_suffix(2);
    while (!text.empty()) alternative.pieces.push_back(take_piece(text));
    if (alternative.pieces.empty() || alternative.weight == 0) fail("an empty alternative");
    return alternative;
  }

  TalePiece take_piece(std::string_view& text) const {
    TalePiece piece;
    if (text[0] != '<' && text[0] != '[') {
      piece.text = text.substr(0, text.find_first_of("<["));
      text.remove_prefix(piece.text.size());
      return piece;
    }
    const bool expand = text[0] == '<';
    const std::size_t end = text.find(expand ? '>' : ']');
    if (end == std::string_view::npos) fail("a bracket is open");
    std::string_view inner = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    piece.kind = expand ? TalePiece::Kind::kExpand : TalePiece::Kind::kRecall;
    piece.article = inner.starts_with("a ");
    if (piece.article) inner.remove_prefix(2);
    const std::size_t divider = inner.find(expand ? '=' : '.');
    const bool divided = divider != std::string_view::npos;
    if (divided || !expand) piece.variable = inner.substr(0, divider);
    if (!expand && divided) piece.pronoun = inner.substr(divider + 1);
    if (!expand) return piece;
    const auto found = indices_.find(std::string(divided ? inner.substr(divider + 1) : inner));
    if (found == indices_.end()) fail(fmt::format("there is no rule {}", inner));
    piece.rule = found->second;
    return piece;
  }

  std::vector<std::pair<std::string, std::string>> bodies_;
  std::map<std::string, std::size_t> indices_;
  std::string rule_;
};

}  // namespace

std::string_view TaleAlternative::plain_text() const {
  const bool plain = pieces.size() == 1 && pieces[0].kind == TalePiece::Kind::kText;
  return plain ? std::string_view(pieces[0].text) : std::string_view();
}

TaleGrammar parse_tale_grammar(std::string_view text) { return GrammarParser(text).parse(); }

std::string_view article_for(std::string_view word) noexcept {
  constexpr std::string_view kVowels = "aeiouAEIOU";
  return !word.empty() && kVowels.find(word[0]) != std::string_view::npos ? "an" : "a";
}

std::string_view pronoun_for(std::string_view masculine, bool feminine) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kForms{
      {{"he", "she"},
       {"him", "her"},
       {"his", "her"},
       {"He", "She"},
       {"His", "Her"},
       {"himself", "herself"}}};
  for (const auto& [he, she] : kForms) {
    if (he == masculine) return feminine ? she : he;
  }
  throw InternalError(fmt::format("{} is no pronoun the tales know", masculine));
}

const TaleMemory::Entry& TaleMemory::get(std::string_view variable) const {
  const auto found = std::find_if(entries.rbegin(), entries.rend(),
                                  [&](const Entry& entry) { return entry.variable == variable; });
  if (found == entries.rend()) {
    throw InternalError(fmt::format("the tale does not remember {}", variable));
  }
  return *found;
}

bool TaleMemory::holds_text(std::string_view text) const noexcept {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const Entry& entry) { return entry.text == text; });
}

}  // namespace snug::data::tales
