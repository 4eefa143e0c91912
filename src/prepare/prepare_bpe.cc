#include "prepare/prepare_bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "data/token_shards.h"
#include "prepare/batch_reader.h"
#include "prepare/journal.h"
#include "prepare/kept_inputs.h"
#include "prepare/ordered_pool.h"
#include "prepare/staged_tokens.h"
#include "prepare/staging_folder.h"

namespace snug::prepare {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct EncodeJob {
  TextBatch batch;
  std::int64_t characters_before = 0;
};

// Files of another kind of data set beside ours would be taken for part of it.
void require_room(const BpeOptions& options) {
  const fs::path& folder = options.directory;
  std::error_code ignored;
  if (fs::exists(folder / "meta.pkl", ignored)) {
    throw DataError(
        fmt::format("{} holds a data set of another vocabulary (meta.pkl)\n"
                    "choose another folder, or remove that one",
                    folder.string()));
  }
  const bool has_shards =
      !data::find_shards(folder, "train").empty() || !data::find_shards(folder, "val").empty();
  if (has_shards) {
    throw DataError(
        fmt::format("{} holds shards already, which would mix with the new ones\n"
                    "choose another folder, or remove them",
                    folder.string()));
  }
  if (options.format == Format::kLlmc && fs::exists(folder / "train.bin", ignored)) {
    throw DataError(
        fmt::format("{} holds a train.bin already, which training would take instead of "
                    "shards\nchoose another folder, or remove it",
                    folder.string()));
  }
}

class Preparation {
 public:
  Preparation(const BpeOptions& options, const BpeHooks& hooks)
      : options_(options), hooks_(hooks) {}

  BpeSummary run() {
    require_room(options_);
    StagingFolder staging(options_.directory);
    const std::string settings = settings_text(options_);
    const std::optional<Done> earlier =
        resumable() ? read_journal(staging.path(), settings, std::ssize(options_.inputs))
                    : std::nullopt;
    if (!earlier) staging.clear();
    staging.reserve_room();
    if (options_.split == Split::kCharacters) keep_inputs(staging);
    total_bytes_ = kept_.byte_count_of(options_.inputs);
    if (options_.split == Split::kCharacters) count_batches();
    done_ = earlier.value_or(Done{});
    bytes_before_ = kept_.byte_count_of(
        {options_.inputs.begin(), options_.inputs.begin() + done_.position.file});
    StagedTokens train(staging.path(), layout("train", 1), done_.train_tokens);
    StagedTokens val(staging.path(), layout("val", 0), done_.val_tokens);
    encode_all(staging, settings, train, val);
    require_both_sides();
    BpeSummary summary{done_.counts, done_.train_tokens, done_.val_tokens, train.finish(),
                       earlier.has_value()};
    for (const std::string& name : val.finish()) summary.files.push_back(name);
    staging.publish(summary.files);
    return summary;
  }

 private:
  bool resumable() const { return std::ranges::none_of(options_.inputs, is_read_once); }

  // A split by characters counts them first, and so reads twice.
  void keep_inputs(const StagingFolder& staging) {
    kept_.keep(options_.inputs, staging.path(), [this](std::int64_t byte_count) {
      if (hooks_.progress) hooks_.progress({"taking in", byte_count, -1, 0});
      require_not_stopped();
    });
  }

  BatchReader make_reader(InputPosition start, std::int64_t first_number) const {
    return BatchReader(options_, start, first_number,
                       [this](const std::string& input) { return kept_.open(input); });
  }

  TokenLayout layout(const std::string& side, int first_shard) const {
    const std::string folder = fs::absolute(options_.directory / "x").parent_path().filename();
    const bool shards = options_.format == Format::kLlmc;
    return {options_.format, options_.shard_tokens, shards ? folder + "_" + side : side,
            first_shard};
  }

  std::size_t jobs_at_a_time() const { return 2 * static_cast<std::size_t>(options_.thread_count); }

  void report(const char* phase, std::int64_t taken_bytes) const {
    if (!hooks_.progress) return;
    hooks_.progress({phase, taken_bytes, total_bytes_, done_.train_tokens + done_.val_tokens});
  }

  // Goes through the input once to know how many characters each batch has.
  void count_batches() {
    using Pool = OrderedPool<TextBatch, std::int64_t>;
    const auto count = [this](TextBatch& batch) {
      TextCounts counts;
      std::int64_t characters = 0;
      for_each_document(options_, batch, counts, [&](std::string_view text, std::int64_t, bool) {
        characters += count_characters(text);
      });
      return characters;
    };
    Pool pool(std::vector<Pool::Work>(static_cast<std::size_t>(options_.thread_count), count));
    BatchReader reader = make_reader({}, 0);
    const auto take = [&] { batch_characters_.push_back(pool.take()); };
    while (std::optional<TextBatch> batch = reader.next()) {
      pool.give(std::move(*batch));
      if (pool.under_way() > jobs_at_a_time()) take();
      report("counting", reader.taken_bytes());
      require_not_stopped();
    }
    while (pool.under_way() > 0) take();
    const auto all =
        std::accumulate(batch_characters_.begin(), batch_characters_.end(), std::int64_t{0});
    // As nanoGPT's prepare.py: int(n * 0.9).
    first_val_character_ =
        static_cast<std::int64_t>(static_cast<double>(all) * (1.0 - options_.val_share));
  }

  using EncodePool = OrderedPool<EncodeJob, EncodedBatch>;

  std::vector<EncodePool::Work> make_workers(const tokenizer::Gpt2Tokenizer& gpt2) const {
    std::vector<EncodePool::Work> workers;
    for (int i = 0; i < options_.thread_count; ++i) {
      auto encoder = std::make_shared<BatchEncoder>(options_, gpt2, first_val_character_);
      workers.push_back(
          [encoder](EncodeJob& job) { return encoder->encode(job.batch, job.characters_before); });
    }
    return workers;
  }

  void encode_all(const StagingFolder& staging, const std::string& settings, StagedTokens& train,
                  StagedTokens& val) {
    const tokenizer::Gpt2Tokenizer gpt2;
    EncodePool pool(make_workers(gpt2));
    BatchReader reader = make_reader(done_.position, done_.batches);
    std::int64_t characters = done_.counts.characters;
    Clock::time_point last_journal = Clock::now();
    const auto keep = [&] {
      train.sync();
      val.sync();
      if (resumable() && done_.batches > 0) write_journal(staging.path(), settings, done_);
      last_journal = Clock::now();
    };
    const auto take = [&] {
      add(pool.take(), train, val);
      if (Clock::now() - last_journal > hooks_.journal_interval) keep();
    };
    try {
      while (std::optional<TextBatch> batch = reader.next()) {
        const std::int64_t before = characters;
        if (options_.split == Split::kCharacters) characters += characters_of(batch->number);
        pool.give({std::move(*batch), before});
        if (pool.under_way() > jobs_at_a_time()) take();
        report("encoding", bytes_before_ + reader.taken_bytes());
        require_not_stopped();
      }
      while (pool.under_way() > 0) take();
    } catch (const StagingError& error) {
      staging.free_room();
      keep_if_possible(keep);
      throw DeviceError(fmt::format("{}\n{}", error.what(), future_of(staging)));
    } catch (const Error&) {
      keep_if_possible(keep);
      throw;
    }
  }

  // On a full disk the journal before this one holds.
  template <typename Keep>
  static void keep_if_possible(const Keep& keep) {
    try {
      keep();
    } catch (const Error&) {
    }
  }

  static std::string future_of(const StagingFolder& staging) {
    return has_journal(staging.path())
               ? "what is done so far is kept: make room, and the same command goes on from there"
               : "nothing of it could be kept: make room, and start again";
  }

  std::int64_t characters_of(std::int64_t batch) const {
    const auto at = static_cast<std::size_t>(batch);
    if (at >= batch_characters_.size()) {
      throw DataError("the input has grown while it was read; the same command starts over");
    }
    return batch_characters_[at];
  }

  void add(const EncodedBatch& batch, StagedTokens& train, StagedTokens& val) {
    train.append(batch.train);
    val.append(batch.val);
    done_.counts.add(batch.counts);
    done_.position = batch.end;
    done_.batches += 1;
    done_.train_tokens = train.token_count();
    done_.val_tokens = val.token_count();
  }

  void require_not_stopped() const {
    if (!hooks_.stop || !hooks_.stop()) return;
    throw StoppedError(fmt::format("stopped; {} is as it was before{}", options_.directory.string(),
                                   resumable() ? ", and the same command goes on from here" : ""));
  }

  void require_both_sides() const {
    if (done_.counts.characters == 0) {
      throw DataError(fmt::format("there is no text in {}{}", options_.inputs.front(),
                                  options_.inputs.size() == 1 ? "" : " and the other inputs"));
    }
    if (done_.train_tokens > 0 && done_.val_tokens > 0) return;
    throw DataError(fmt::format(
        "{} document(s), {} characters: nothing is left for {}.bin with --val={} of the {}\n{}",
        done_.counts.documents, done_.counts.characters, done_.val_tokens == 0 ? "val" : "train",
        options_.val_share, options_.split == Split::kDocuments ? "documents" : "characters",
        options_.split == Split::kDocuments
            ? "a larger --val, or --split=characters, which cuts inside a document"
            : "it needs more text, or another --val"));
  }

  const BpeOptions& options_;
  const BpeHooks& hooks_;
  KeptInputs kept_;
  std::int64_t total_bytes_ = -1;
  std::int64_t bytes_before_ = 0;  // of the files that an earlier run has finished
  std::vector<std::int64_t> batch_characters_;
  std::int64_t first_val_character_ = 0;
  Done done_;
};

}  // namespace

BpeSummary prepare_bpe(const BpeOptions& options, const BpeHooks& hooks) {
  return Preparation(options, hooks).run();
}

}  // namespace snug::prepare
