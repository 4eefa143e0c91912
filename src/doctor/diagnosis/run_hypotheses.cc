#include "doctor/diagnosis/run_hypotheses.h"

#include <algorithm>
#include <bit>
#include <set>

#include "base/bytes.h"
#include "base/integers.h"
#include "doctor/diagnosis/common_models.h"
#include "doctor/diagnosis/guess_sizes.h"
#include "doctor/diagnosis/run.h"

namespace snug::doctor::diagnosis {
namespace {

constexpr std::int64_t kMaxTriedBatch = 256;
// Up to this a request may be a weight, a copy or cuBLAS's workspace: no batch follows from it.
constexpr std::int64_t kWeightBytes = 260 * kMiB;

struct Weighted {
  std::int64_t value;
  double prior;
};
constexpr Weighted kTriedVocabularies[] = {{50304, 1.0},  {50257, 0.4}, {65, 0.3},
                                           {4096, 0.1},   {256, 0.05},  {8192, 0.05},
                                           {32000, 0.05}, {65536, 0.02}};
// nanoGPT's config for characters has its own dropout.
constexpr std::int64_t kCharacters = 65;
constexpr double kCharacterDropout = 0.2;
constexpr Weighted kTriedLengths[] = {
    {1024, 1.0}, {512, 0.4}, {256, 0.4}, {2048, 0.2}, {128, 0.05}};
constexpr std::int64_t kUsualBatches[] = {1, 4, 12, 32};
// So many are tried, the most usual ones.
constexpr std::size_t kMaxHypotheses = 160;

std::int64_t parameter_count(const torch::TorchRun& run) {
  return 12 * run.n_layer * run.n_embd * run.n_embd +
         (run.vocab_size + run.block_size) * run.n_embd;
}

std::int64_t token_count(const torch::TorchRun& run) { return run.batch_size * run.block_size; }

class HypothesisSearch {
 public:
  explicit HypothesisSearch(const FailureEvidence& evidence)
      : evidence_(evidence), traits_(torch_traits_of(evidence.log)), hint_(evidence.moment.hint) {}

  std::vector<RunHypothesis> run();

 private:
  // `hypothesis` lacks its batch.
  void add_batches(const RunHypothesis& hypothesis);
  bool asks_for_weight(const torch::TorchRun& run) const;
  void add(RunHypothesis hypothesis, std::int64_t batch, double prior);
  // Bytes per sequence of tensors that the traceback allows.
  std::set<std::int64_t> units_of(const torch::TorchRun& run) const;
  bool can_be(const torch::TorchRun& run) const;
  bool is_of_weights() const {
    return hint_ == TensorHint::kOptimizer || hint_ == TensorHint::kWeights;
  }
  bool has_seen_all_layers() const;

  const FailureEvidence& evidence_;
  TorchTraits traits_;
  TensorHint hint_;
  std::vector<RunHypothesis> found_;
};

// A loss or its gradient comes after the forward pass of every block.
bool HypothesisSearch::has_seen_all_layers() const {
  const auto phase = evidence_.moment.only_phase();
  if (phase == torch::TorchPhase::kBackward) {
    return evidence_.request->low_bytes > kWeightBytes;
  }
  return phase == torch::TorchPhase::kForward &&
         (hint_ == TensorHint::kLoss || hint_ == TensorHint::kLogits);
}

// Bounds that need no model: what stands, and what a pass can hold at most.
bool HypothesisSearch::can_be(const torch::TorchRun& run) const {
  const std::int64_t allocated = log::middle(*evidence_.event.allocated);
  const std::int64_t weights = 4 * parameter_count(run);
  const std::int64_t stream = run.n_layer * token_count(run) * run.n_embd;
  const bool starts = hint_ == TensorHint::kWeights;
  std::int64_t min_bytes = starts ? 0 : weights;
  if (hint_ == TensorHint::kOptimizer) min_bytes = 2 * weights;
  if (has_seen_all_layers()) min_bytes += 16 * stream;
  const std::int64_t slow =
      run.flash ? 0
                : 8 * run.n_layer * run.batch_size * run.n_head * run.block_size * run.block_size;
  const std::int64_t max_bytes =
      5 * weights + 80 * stream + slow + 16 * token_count(run) * run.vocab_size + 64 * kMiB;
  return min_bytes <= allocated + allocated / 50 && allocated <= max_bytes + max_bytes / 50;
}

std::set<std::int64_t> HypothesisSearch::units_of(const torch::TorchRun& run) const {
  const std::int64_t half = torch::compute_bytes(run), row = run.block_size * run.n_embd;
  const bool is_open = hint_ == TensorHint::kNone;
  std::set<std::int64_t> units;
  for (const std::int64_t bytes : {half, std::int64_t{4}}) {
    if (is_open || hint_ == TensorHint::kLoss || hint_ == TensorHint::kLogits ||
        hint_ == TensorHint::kSoftmax) {
      units.insert(run.block_size * run.vocab_size * bytes);
    }
    if (is_open || hint_ == TensorHint::kAttention || hint_ == TensorHint::kMlp ||
        hint_ == TensorHint::kEmbedding) {
      units.insert(row * bytes);
    }
    if (is_open || hint_ == TensorHint::kAttention) units.insert(3 * row * bytes);
    if (is_open || hint_ == TensorHint::kMlp) units.insert(4 * row * bytes);
    if (!run.flash && (is_open || hint_ == TensorHint::kAttention)) {
      units.insert(run.n_head * run.block_size * run.block_size * bytes);
    }
  }
  return units;
}

void HypothesisSearch::add(RunHypothesis hypothesis, std::int64_t batch, double prior) {
  hypothesis.run.batch_size = hypothesis.run.eval_batch_size = batch;
  hypothesis.prior *= prior;
  if (can_be(hypothesis.run)) found_.push_back(hypothesis);
}

// A weight, its gradient or its moments; a few MiB may also be cuBLAS's workspace.
bool HypothesisSearch::asks_for_weight(const torch::TorchRun& run) const {
  const std::int64_t square = run.n_embd * run.n_embd;
  const std::int64_t counts[] = {square, 3 * square, 4 * square, run.vocab_size * run.n_embd};
  return std::any_of(std::begin(counts), std::end(counts),
                     [&](std::int64_t count) {
                       return evidence_.request->covers(4 * count) ||
                              evidence_.request->covers(2 * count);
                     }) ||
         evidence_.request->covers(run.cublas_workspace_bytes);
}

void HypothesisSearch::add_batches(const RunHypothesis& hypothesis) {
  const log::LogAmount& request = *evidence_.request;
  if (asks_for_weight(hypothesis.run)) {
    for (const std::int64_t batch : kUsualBatches) {
      add(hypothesis, batch, is_of_weights() ? prior_of_batch(batch) : 0.2);
    }
  }
  if (is_of_weights()) return;
  for (const std::int64_t unit : units_of(hypothesis.run)) {
    const std::int64_t first = std::max<std::int64_t>(1, ceil_div(request.low_bytes, unit));
    const std::int64_t last = std::min(kMaxTriedBatch, request.high_bytes / unit);
    // Where one more sequence changes little, some batch always matches.
    const double surprise = last > first ? 0.3 : 1;
    for (std::int64_t batch = first; batch <= std::min(last, first + 8); ++batch) {
      const bool is_power = std::has_single_bit(static_cast<std::uint64_t>(batch));
      add(hypothesis, batch, prior_of_batch(batch) * (is_power ? 1 : surprise));
    }
  }
}

std::vector<RunHypothesis> HypothesisSearch::run() {
  for (const CommonGpt& gpt : common_gpts()) {
    for (const Weighted& vocabulary : kTriedVocabularies) {
      for (const Weighted& length : kTriedLengths) {
        for (const DType compute : {DType::kBF16, DType::kF32}) {
          RunHypothesis one;
          one.run.n_layer = gpt.layers;
          one.run.n_head = gpt.heads;
          one.run.n_embd = gpt.width;
          one.run.vocab_size = vocabulary.value;
          one.run.block_size = one.run.eval_block_size = length.value;
          one.run.compute = compute;
          one.run.dropout = vocabulary.value == kCharacters ? kCharacterDropout : 0;
          one.run.flash = traits_.flash.value_or(true);
          one.run.version = traits_.version.value_or(torch::TorchVersion::kCurrent);
          one.run.compiled = traits_.compiled.value_or(false);
          one.run.resumed = hint_ == TensorHint::kWeights;  // else a start needs little
          one.prior =
              gpt.prior * vocabulary.prior * length.prior * (compute == DType::kBF16 ? 1 : 0.25);
          add_batches(one);
        }
      }
    }
  }
  std::stable_sort(
      found_.begin(), found_.end(),
      [](const RunHypothesis& a, const RunHypothesis& b) { return a.prior > b.prior; });
  if (found_.size() > kMaxHypotheses) found_.resize(kMaxHypotheses);
  return std::move(found_);
}

}  // namespace

std::vector<RunHypothesis> run_hypotheses(const FailureEvidence& evidence) {
  return HypothesisSearch(evidence).run();
}

std::vector<RunHypothesis> neighbours_of(const torch::TorchRun& given,
                                         const FailureEvidence& evidence) {
  constexpr double kOtherBatch = 0.3, kOtherSize = 0.2, kSizesOfCheckpoint = 0.6;
  const log::LogAmount& request = *evidence.request;
  std::vector<RunHypothesis> found;
  const auto add = [&](double prior, auto&& change) {
    found.push_back({given, prior});
    change(found.back().run);
  };
  const auto wide_row = [](std::int64_t length, std::int64_t vocabulary, std::int64_t bytes) {
    return length * vocabulary * bytes;
  };
  for (const std::int64_t bytes : {std::int64_t{4}, std::int64_t{2}}) {
    const std::int64_t row = wide_row(given.block_size, given.vocab_size, bytes);
    const std::int64_t batch = request.high_bytes / row;
    if (batch >= 1 && batch <= 1024 && batch != given.batch_size && request.covers(batch * row)) {
      add(kOtherBatch, [&](torch::TorchRun& run) { run.batch_size = run.eval_batch_size = batch; });
    }
    for (const Weighted& length : kTriedLengths) {
      const bool is_it =
          request.covers(given.batch_size * wide_row(length.value, given.vocab_size, bytes));
      if (length.value == given.block_size || !is_it) continue;
      add(kOtherSize,
          [&](torch::TorchRun& run) { run.block_size = run.eval_block_size = length.value; });
    }
    for (const Weighted& vocabulary : kTriedVocabularies) {
      const bool is_it =
          request.covers(given.batch_size * wide_row(given.block_size, vocabulary.value, bytes));
      if (vocabulary.value == given.vocab_size || !is_it) continue;
      add(kOtherSize, [&](torch::TorchRun& run) { run.vocab_size = vocabulary.value; });
    }
  }
  if (!given.resumed) return found;
  for (const CommonGpt& gpt : common_gpts()) {
    if (gpt.layers == given.n_layer && gpt.width == given.n_embd) continue;
    add(kSizesOfCheckpoint * gpt.prior, [&](torch::TorchRun& run) {
      run.n_layer = gpt.layers;
      run.n_head = gpt.heads;
      run.n_embd = gpt.width;
      run.checkpoint_blocks = std::min(run.checkpoint_blocks, run.n_layer);
    });
  }
  return found;
}

std::vector<RunHypothesis> variants_of(const RunHypothesis& hypothesis,
                                       const FailureEvidence& evidence) {
  const TorchTraits traits = torch_traits_of(evidence.log);
  std::vector<RunHypothesis> variants;
  const auto vary = [&](double prior, auto&& change) {
    variants.push_back(hypothesis);
    variants.back().prior *= prior;
    change(variants.back().run);
  };
  vary(0.5, [](torch::TorchRun& run) { run.dropout = run.dropout > 0 ? 0 : 0.1; });
  vary(0.3, [](torch::TorchRun& run) { run.bias = true; });
  vary(0.2, [](torch::TorchRun& run) { run.bias = true, run.dropout = 0.1; });
  vary(0.2, [](torch::TorchRun& run) { run.resumed = true; });
  if (traits.version != torch::TorchVersion::kCurrent) {
    vary(0.5, [](torch::TorchRun& run) {
      const bool is_older = run.version == torch::TorchVersion::kOlder;
      run.version = is_older ? torch::TorchVersion::kCurrent : torch::TorchVersion::kOlder;
    });
  }
  return variants;
}

}  // namespace snug::doctor::diagnosis
