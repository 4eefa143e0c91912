#include "doctor/log/phrase_automaton.h"

#include <algorithm>
#include <cassert>

#include "doctor/log/fold.h"

namespace snug::doctor::log {
namespace {

constexpr std::uint16_t kAbsent = 0xFFFF;

}  // namespace

// The trie of the phrases; after link() every node has a transition for every column.
struct PhraseAutomaton::Trie {
  struct Node {
    Node() { next.fill(kAbsent); }
    std::array<State, kColumns> next;
    std::uint16_t phrase = kAbsent;  // the longest that ends here
    State fallback = kStart;         // the longest proper suffix that is a node
  };
  std::vector<Node> nodes{1};
  std::vector<State> breadth_first;

  void add(std::span<const std::size_t> columns, std::uint16_t phrase) {
    State node = kStart;
    for (const std::size_t column : columns) {
      if (nodes[node].next[column] == kAbsent) {
        nodes[node].next[column] = static_cast<State>(nodes.size());
        nodes.emplace_back();
      }
      node = nodes[node].next[column];
    }
    nodes[node].phrase = phrase;
  }

  void link() {
    breadth_first = {kStart};
    for (std::size_t i = 0; i < breadth_first.size(); ++i) {
      const State node = breadth_first[i];
      for (std::size_t column = 0; column < kColumns; ++column) {
        const State suffix = node == kStart ? kStart : nodes[nodes[node].fallback].next[column];
        State& next = nodes[node].next[column];
        if (next == kAbsent) {
          next = suffix;
          continue;
        }
        breadth_first.push_back(next);
        nodes[next].fallback = suffix;
        if (nodes[next].phrase == kAbsent) nodes[next].phrase = nodes[suffix].phrase;
      }
    }
  }
};

PhraseAutomaton::PhraseAutomaton(std::span<const std::string_view> phrases) {
  std::array<std::size_t, 256> column_of{};
  std::size_t column_count = kForeign + 1;
  Trie trie;
  for (std::size_t index = 0; index < phrases.size(); ++index) {
    std::vector<std::size_t> columns;
    for (const char c : phrases[index]) {
      std::size_t& column = column_of[static_cast<unsigned char>(c)];
      if (column == 0) column = column_count++;
      columns.push_back(column);
    }
    trie.add(columns, static_cast<std::uint16_t>(index));
  }
  assert(column_count <= kColumns && trie.nodes.size() < kAbsent);
  trie.link();
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const char kept = kFolded[byte];
    const std::size_t column = column_of[static_cast<unsigned char>(kept)];
    column_[byte] = static_cast<std::uint8_t>(kept == '\0' ? kDropped : std::max(column, kForeign));
  }
  const std::vector<State> number_of = number_states(trie);
  next_.assign(trie.nodes.size() * kColumns, kStart);
  for (std::size_t node = 0; node < trie.nodes.size(); ++node) {
    State* row = &next_[number_of[node] * kColumns];
    row[kDropped] = number_of[node];
    for (std::size_t column = kForeign; column < column_count; ++column) {
      row[column] = number_of[trie.nodes[node].next[column]];
    }
  }
}

std::vector<PhraseAutomaton::State> PhraseAutomaton::number_states(const Trie& trie) {
  std::vector<State> number_of(trie.nodes.size());
  State next_number = 0;
  for (const bool is_hit : {false, true}) {
    if (is_hit) first_hit_ = next_number;
    for (const State node : trie.breadth_first) {
      const std::uint16_t phrase = trie.nodes[node].phrase;
      if ((phrase != kAbsent) != is_hit) continue;
      if (is_hit) phrase_.push_back(phrase);
      number_of[node] = next_number++;
    }
  }
  return number_of;
}

}  // namespace snug::doctor::log
