// Finds many phrases in one pass over the bytes (Aho and Corasick, 1975), on folded text and across
// line ends, at one table look-up a byte.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace snug::doctor::log {

class PhraseAutomaton {
 public:
  using State = std::uint16_t;
  static constexpr State kStart = 0;

  // `phrases` are folded and not empty, at most 60 different characters and 65,535 in all together.
  explicit PhraseAutomaton(std::span<const std::string_view> phrases);

  // Walks over `text` from `state` and calls on_hit(phrase index, offset after its end) for each
  // phrase that ends in it; of those that end together only for the longest. Returns the state to
  // go on from with the text that follows.
  template <typename OnHit>
  State feed(State state, std::string_view text, const OnHit& on_hit) const {
    const std::uint8_t* const columns = column_.data();
    const State* const next = next_.data();
    const State first_hit = first_hit_;
    for (std::size_t at = 0; at < text.size(); ++at) {
      const std::size_t column = columns[static_cast<unsigned char>(text[at])];
      state = next[state * kColumns + column];
      if (state >= first_hit && column != kDropped) on_hit(phrase_[state - first_hit], at + 1);
    }
    return state;
  }

 private:
  struct Trie;
  std::vector<State> number_states(const Trie& trie);

  // Column 0 keeps the state (dropped bytes), 1 is every character that no phrase has.
  static constexpr std::size_t kColumns = 64, kDropped = 0, kForeign = 1;

  std::array<std::uint8_t, 256> column_{};
  std::vector<State> next_;            // [state][column]
  std::vector<std::uint16_t> phrase_;  // of the states from first_hit_ on
  State first_hit_ = 0;                // states where a phrase ends are numbered last
};

}  // namespace snug::doctor::log
