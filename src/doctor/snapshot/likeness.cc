#include "doctor/snapshot/likeness.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "doctor/torch/train.h"

namespace snug::doctor::snapshot {
namespace {

constexpr std::int64_t kTableRows = 1 << 22, kBatchTokens = 1 << 26;
// A tape takes milliseconds; these keep all of them within about a second.
constexpr std::size_t kVocabularies = 4, kBatches = 3, kContexts = 6, kMaxSizes = 1000;
constexpr std::int64_t kMaxLayersTried = 8000;  // of all tapes

// From event to event.
class Comparing {
 public:
  explicit Comparing(const SizeCounts& wanted) : wanted_(wanted) {}
  std::int64_t score() const { return score_; }

  void change(std::int64_t bytes, bool allocates) {
    std::int64_t& count = held_[bytes];
    const std::int64_t wanted = count_of(wanted_, bytes);
    // The one that comes or goes is wanted if there are not enough without it.
    const bool is_wanted = (allocates ? count : count - 1) < wanted;
    const std::int64_t weight = is_wanted ? bytes : -bytes;
    score_ += allocates ? weight : -weight;
    count += allocates ? 1 : -1;
  }

 private:
  const SizeCounts& wanted_;
  SizeCounts held_;
  std::int64_t score_ = 0;
};

// The numbers with the highest weights, at most `count`.
std::vector<std::int64_t> best_of(std::vector<std::pair<std::int64_t, std::int64_t>> weighted,
                                  std::size_t count) {
  std::sort(weighted.begin(), weighted.end(), std::greater<>());
  std::vector<std::int64_t> best;
  for (std::size_t i = 0; i < std::min(count, weighted.size()); ++i) {
    best.push_back(weighted[i].second);
  }
  return best;
}

// Weights, gradients and moments: each size stands there one to four times. Norms tell the layers
// best, for hardly anything else is as small; products may have the size of activations.
std::set<std::int64_t> possible_layers(const SizeCounts& held, const ModelSizes& sizes) {
  const std::int64_t row = 4 * sizes.width, square = row * sizes.width;
  const std::int64_t per_layer = sizes.bias ? 6 : 2, rest = sizes.bias ? 2 : 1;
  const std::int64_t products = std::min(
      {count_of(held, square), count_of(held, 3 * square), count_of(held, 4 * square) / 2});
  std::set<std::int64_t> layers;
  for (const std::int64_t copies : {1, 2, 3, 4}) {
    const std::int64_t norms = count_of(held, row) / copies - rest;
    for (const std::int64_t n : {norms / per_layer, products / copies}) {
      if (n >= 1 && n <= std::min(products, kMaxTapeLayers)) layers.insert(n);
    }
  }
  return layers;
}

// Rows of what may be a table of the width: the vocabulary's is seen in the logits, too.
std::vector<std::int64_t> possible_vocabularies(const SizeCounts& held, std::int64_t width,
                                                std::int64_t tokens) {
  std::vector<std::pair<std::int64_t, std::int64_t>> weighted;
  for (const auto& [bytes, count] : held) {
    const std::int64_t rows = bytes / (4 * width);
    if (bytes % (4 * width) != 0 || rows < 2 || rows > kTableRows) continue;
    // Its 16-bit copy and the logits first: a small vocabulary weighs little.
    constexpr std::int64_t kLink = std::int64_t{1} << 50;
    std::int64_t weight = bytes;
    for (const std::int64_t linked : {2 * width * rows, 2 * tokens * rows, 4 * tokens * rows}) {
      if (held.contains(linked)) weight += kLink;
    }
    weighted.emplace_back(weight, rows);
  }
  return best_of(std::move(weighted), kVocabularies);
}

// Tokens and targets take 8 bytes each, and a stream or logits of as many stand by.
std::vector<std::int64_t> possible_tokens(const SizeCounts& held, std::int64_t width) {
  std::vector<std::pair<std::int64_t, std::int64_t>> weighted;
  for (const auto& [bytes, count] : held) {
    const std::int64_t tokens = bytes / 8;
    if (bytes % 8 != 0 || count < 2 || tokens < 2 || tokens > kBatchTokens) continue;
    std::int64_t weight = 0;
    for (const auto& [other, others] : held) {
      const bool is_stream = other == 4 * tokens * width || other == 2 * tokens * width;
      const bool is_logits =
          other % (2 * tokens) == 0 && (count_of(held, 2 * width * (other / tokens)) > 0 ||
                                        count_of(held, width * (other / tokens)) > 0);
      if (is_stream || is_logits) weight += other * others;
    }
    if (weight > 0) weighted.emplace_back(weight, tokens);
  }
  return best_of(std::move(weighted), kBatches);
}

std::vector<std::int64_t> possible_contexts(const SizeCounts& held, std::int64_t width,
                                            std::int64_t tokens) {
  std::vector<std::pair<std::int64_t, std::int64_t>> weighted;
  for (const auto& [bytes, count] : held) {
    const std::int64_t rows = bytes / (4 * width);
    if (bytes % (4 * width) != 0 || rows < 2 || tokens % rows != 0) continue;
    weighted.emplace_back(count_of(held, 8 * rows) > 0 ? 2 : 1, rows);  // the positions
  }
  return best_of(std::move(weighted), kContexts);
}

class Search {
 public:
  Search(const SizeCounts& held, const ModelSizes& start) : held_(held), best_(start) {}

  void try_sizes(const ModelSizes& sizes) {
    torch::TorchTape tape;
    torch::record_training(run_of(sizes), tape);
    const Likeness likeness = closest_event(tape, held_);
    if (likeness.score <= score_) return;
    score_ = likeness.score;
    best_ = sizes;
  }

  void try_shapes() {
    ModelSizes sizes = best_;
    std::int64_t layers_tried = 0;
    for (const std::int64_t tokens : possible_tokens(held_, sizes.width)) {
      for (const std::int64_t vocabulary : possible_vocabularies(held_, sizes.width, tokens)) {
        for (const std::int64_t context : possible_contexts(held_, sizes.width, tokens)) {
          for (const std::int64_t layers : possible_layers(held_, sizes)) {
            sizes.tokens = tokens;
            sizes.vocabulary = vocabulary;
            sizes.block = context;
            sizes.layers = layers;
            sizes.half = held_.contains(2 * sizes.width * sizes.width) ||
                         held_.contains(2 * tokens * vocabulary);
            // Masks take a byte an element; as few as these may be the table of positions.
            sizes.dropout = count_of(held_, tokens * sizes.width) > 4;
            layers_tried += layers;
            if (vocabulary != context && layers_tried <= kMaxLayersTried) try_sizes(sizes);
          }
        }
      }
    }
  }

  void try_settings() {
    if (score_ == 0) return;
    ModelSizes sizes = best_;
    sizes.dropout = !sizes.dropout;
    try_sizes(sizes);
    sizes = best_;
    sizes.half = !sizes.half;
    try_sizes(sizes);
    for (std::int64_t heads = 1; heads <= best_.width / 16; heads *= 2) {
      sizes = best_;
      sizes.heads = heads;
      if (sizes.width % heads == 0) try_sizes(sizes);
    }
  }

  const ModelSizes& best() const { return best_; }

 private:
  const SizeCounts& held_;
  ModelSizes best_;
  std::int64_t score_ = 0;
};

}  // namespace

Likeness closest_event(const torch::TorchTape& tape, const SizeCounts& held) {
  Comparing comparing(held);
  Likeness best{0, INT64_MIN};
  for (std::size_t i = 0; i < tape.events().size(); ++i) {
    const torch::TorchEvent& event = tape.events()[i];
    comparing.change(tape.tensors()[static_cast<std::size_t>(event.tensor)].bytes, event.allocates);
    if (comparing.score() > best.score) best = {i, comparing.score()};
  }
  return best;
}

void infer_by_likeness(const SizeCounts& held, ModelSizes& sizes) {
  if (held.size() > kMaxSizes) return;  // no model has so many
  const std::int64_t row = 4 * sizes.width;
  sizes.bias = count_of(held, 3 * row) > 0 && count_of(held, 4 * row) > 0;
  Search search(held, sizes);
  search.try_shapes();
  search.try_settings();
  sizes = search.best();
}

}  // namespace snug::doctor::snapshot
