#include "doctor/snapshot/sizes.h"

#include <algorithm>
#include <initializer_list>

#include "config/gpt_sizes.h"
#include "doctor/snapshot/likeness.h"

namespace snug::doctor::snapshot {
namespace {

// Larger ones are no model's, and products of these stay within 63 bits.
constexpr std::int64_t kMaxWidth = 1 << 16, kMaxRows = 1 << 22, kMaxTokens = 1 << 26;

// Every allocation that has a size: of the blocks, and of the record.
struct Seen {
  SizeCounts weights;           // moved to the card
  SizeCounts held, unrecorded;  // live blocks: all; those without frames
  SizeCounts batches;           // get_batch()
  SizeCounts top, attention, products, dropouts;
};

void see(const Place& place, Part part, std::int64_t bytes, Seen& seen) {
  if (place.takes_batch) ++seen.batches[bytes];
  if (part == Part::kTop && place.op == Operator::kDirect) ++seen.top[bytes];
  if (part == Part::kAttention && place.op == Operator::kDirect) ++seen.attention[bytes];
  if (place.op == Operator::kLinear) ++seen.products[bytes];
  if (place.op == Operator::kDropout) ++seen.dropouts[bytes];
}

Seen see_all(const Snapshot& snapshot, const std::vector<Place>& places, const ModelFile& model) {
  Seen seen;
  for (const Segment& segment : snapshot.segments) {
    for (std::uint32_t i = 0; i < segment.block_count; ++i) {
      const Block& block = snapshot.blocks[segment.first_block + i];
      if (block.state == BlockState::kFree) continue;
      const Place& place = places[block.stack];
      ++seen.held[block.requested_bytes];
      if (place.op == Operator::kMove) ++seen.weights[block.requested_bytes];
      if (place.op == Operator::kUnrecorded) ++seen.unrecorded[block.requested_bytes];
      see(place, part_of(model, place), block.requested_bytes, seen);
    }
  }
  for (const Life& life : snapshot.trace.lives) {
    const Place& place = places[life.stack];
    if (place.op != Operator::kUnrecorded) see(place, part_of(model, place), life.bytes, seen);
  }
  return seen;
}

// The tensors of blocks: per layer 12C², 4C² and two of 16C², and norms of 4C. Where weights,
// gradients and moments cannot be told apart each stands there up to four times: so many norms are
// left over when those of the layers are taken away.
bool infer_blocks(const SizeCounts& counts, ModelSizes& sizes) {
  std::int64_t best = 0;
  for (const auto& [bytes, norms] : counts) {
    const std::int64_t width = bytes / 4;
    if (bytes % 4 != 0 || width < 8 || width > kMaxWidth) continue;
    const std::int64_t wide = count_of(counts, 12 * width * width);
    const std::int64_t square = count_of(counts, 4 * width * width);
    const std::int64_t mlp = count_of(counts, 16 * width * width) / 2;
    const std::int64_t matrices = std::min({wide, square, mlp});
    if (matrices < 1 || width * matrices <= best) continue;
    const bool bias =
        count_of(counts, 12 * width) >= matrices && count_of(counts, 16 * width) >= matrices;
    std::int64_t copies =
        std::clamp<std::int64_t>(bias ? (norms - 6 * matrices) / 2 : norms - 2 * matrices, 1, 4);
    while (matrices % copies != 0) --copies;  // something else has a norm's size
    best = width * matrices;
    sizes.width = width;
    sizes.bias = bias;
    sizes.layers = std::max<std::int64_t>(1, matrices / copies);
  }
  return best > 0;
}

// What is divisible by the width: the two embeddings among them. A table may have the size of a
// block's tensor (1024 tokens of width 1024): then there is one more of these than layers have.
std::vector<std::int64_t> table_rows(const SizeCounts& counts, const ModelSizes& sizes) {
  const std::int64_t row = 4 * sizes.width, square = row * sizes.width, n = sizes.layers;
  const SizeCounts of_blocks = {{row, sizes.bias ? 6 * n + 2 : 2 * n + 1},
                                {3 * row, sizes.bias ? n : 0},
                                {4 * row, sizes.bias ? n : 0},
                                {square, n},
                                {3 * square, n},
                                {4 * square, 2 * n}};
  std::vector<std::int64_t> rows;
  for (const auto& [bytes, count] : counts) {
    const bool is_table = bytes % row == 0 && bytes / row > 1 && bytes / row <= kMaxRows;
    const std::int64_t expected = count_of(of_blocks, bytes);
    const bool is_more = expected == 0 || count % expected != 0;
    if (is_table && is_more) rows.push_back(bytes / row);
  }
  return rows;
}

// Of two rows the one that divides the tokens of a batch is the context; else the smaller.
void infer_tables(const Seen& seen, const SizeCounts& counts, ModelSizes& sizes) {
  std::vector<std::int64_t> rows = table_rows(counts, sizes);
  if (rows.size() < 2) return;
  if (rows.size() > 2) {  // activations among them: the positions, int64, tell the context
    std::erase_if(rows, [&](std::int64_t n) {
      return n != config::kPaddedGpt2Vocabulary && n != config::kGpt2Vocabulary && n != 65 &&
             count_of(seen.held, 8 * n) == 0;
    });
    if (rows.size() < 2) return;
  }
  const auto is_context = [&](std::int64_t n) {
    if (count_of(seen.top, 8 * n) > 0) return true;
    return sizes.tokens > 0 && sizes.tokens % n == 0;
  };
  const std::int64_t low = rows.front(), high = rows.back();
  const bool swapped = !is_context(low) && is_context(high);
  sizes.block = swapped ? high : low;
  sizes.vocabulary = swapped ? low : high;
}

void infer_batch(const Seen& seen, ModelSizes& sizes) {
  std::int64_t max_count = 0;
  for (const auto& [bytes, count] : seen.batches) {
    if (bytes % 8 == 0 && bytes / 8 <= kMaxTokens && count >= max_count) {
      max_count = count;
      sizes.tokens = bytes / 8;
    }
  }
}

// Without frames: tokens and targets are 8 bytes each, and a residual stream of as many stands by.
void infer_batch_by_size(const Seen& seen, ModelSizes& sizes) {
  std::int64_t max_count = 0;
  for (const auto& [bytes, count] : seen.held) {
    const std::int64_t tokens = bytes / 8;
    if (bytes % (8 * sizes.block) != 0 || count < 2 || tokens > kMaxTokens) continue;
    constexpr std::int64_t kLogitsCount = 1000;  // nothing else is as wide as the vocabulary
    const std::int64_t logits = count_of(seen.held, 2 * tokens * sizes.vocabulary) +
                                count_of(seen.held, 4 * tokens * sizes.vocabulary);
    const std::int64_t streams = count_of(seen.held, 4 * tokens * sizes.width) +
                                 count_of(seen.held, 2 * tokens * sizes.width) +
                                 kLogitsCount * logits;
    if (streams > max_count) {
      max_count = streams;
      sizes.tokens = tokens;
    }
  }
}

void infer_heads(const Seen& seen, ModelSizes& sizes) {
  const std::int64_t row = 4 * sizes.tokens;
  for (const auto& [bytes, count] : seen.attention) {  // log-sum-exp: 4 bytes a token and head
    const std::int64_t heads = row > 0 && bytes % row == 0 ? bytes / row : 0;
    if (heads < 1 || heads > sizes.width / 4 || sizes.width % heads != 0) continue;
    sizes.heads = heads;
    return;
  }
}

void infer_precision(const Seen& seen, ModelSizes& sizes) {
  const std::int64_t copy = 2 * sizes.width * sizes.vocabulary;
  const std::int64_t square = 2 * sizes.width * sizes.width;
  const SizeCounts& looked_at = seen.products.empty() ? seen.held : seen.products;
  const bool has_copies = looked_at.contains(copy) || looked_at.contains(square);
  sizes.half = has_copies || (seen.products.empty() && seen.held.size() < 8) ||
               count_of(seen.products, 4 * sizes.tokens * sizes.vocabulary) == 0;
  sizes.dropout = seen.dropouts.contains(sizes.tokens * sizes.width);
}

}  // namespace

SizeCounts parameter_sizes(const ModelSizes& sizes) {
  SizeCounts counts;
  if (!sizes.is_known()) return counts;
  const std::int64_t row = 4 * sizes.width, square = row * sizes.width, n = sizes.layers;
  counts[row * sizes.vocabulary] += 1;
  counts[row * sizes.block] += 1;
  counts[3 * square] += n;
  counts[square] += n;
  counts[4 * square] += 2 * n;
  counts[row] += 2 * n + 1;
  if (sizes.bias) {
    counts[row] += 4 * n + 1;
    counts[3 * row] += n;
    counts[4 * row] += n;
  }
  return counts;
}

ModelSizes infer_sizes(const Snapshot& snapshot, const std::vector<Place>& places,
                       const ModelFile& model) {
  ModelSizes sizes;
  const Seen seen = see_all(snapshot, places, model);
  const SizeCounts& counts = seen.weights.empty() ? seen.unrecorded : seen.weights;
  if (!infer_blocks(counts, sizes)) return sizes;
  if (!snapshot.has_frames()) {
    ModelSizes alike = sizes;
    infer_by_likeness(seen.held, alike);
    if (alike.is_known() && alike.tokens > 0) return alike;
  }
  infer_batch(seen, sizes);
  infer_tables(seen, counts, sizes);
  if (!sizes.is_known()) return sizes;
  if (sizes.tokens == 0) infer_batch_by_size(seen, sizes);
  infer_heads(seen, sizes);
  infer_precision(seen, sizes);
  return sizes;
}

torch::TorchRun run_of(const ModelSizes& sizes) {
  torch::TorchRun run;
  run.n_layer = sizes.layers;
  run.n_embd = sizes.width;
  constexpr std::int64_t kUsualHead = 64;
  run.n_head = sizes.heads > 0                 ? sizes.heads
               : sizes.width % kUsualHead == 0 ? sizes.width / kUsualHead
                                               : 1;
  run.block_size = sizes.block;
  run.vocab_size = sizes.vocabulary;
  run.bias = sizes.bias;
  run.dropout = sizes.dropout ? 0.1 : 0;
  run.batch_size = run.eval_batch_size = std::max<std::int64_t>(1, sizes.batch());
  run.eval_block_size = sizes.block;
  run.compute = sizes.half ? DType::kBF16 : DType::kF32;
  return run;
}

ModelSizes sizes_of(const torch::TorchRun& run) {
  ModelSizes sizes;
  sizes.width = run.n_embd;
  sizes.layers = run.n_layer;
  sizes.vocabulary = run.vocab_size;
  sizes.block = run.block_size;
  sizes.heads = run.n_head;
  sizes.tokens = run.batch_size * run.block_size;
  sizes.bias = run.bias;
  sizes.half = run.compute != DType::kF32;
  sizes.dropout = run.dropout > 0;
  return sizes;
}

}  // namespace snug::doctor::snapshot
