#include "data/prepare_char.h"

#include <fmt/format.h>

#include <bitset>
#include <memory>
#include <system_error>

#include "base/bytes.h"
#include "base/error.h"
#include "base/input_file.h"
#include "base/utf8.h"
#include "data/char_dataset_writer.h"
#include "data/char_stream.h"

namespace snug::data {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMinSplitTokens = 2;  // one to read and one to predict

// Calls `progress` about every MiB.
class ProgressMeter {
 public:
  ProgressMeter(const PrepareProgress& progress, std::int64_t total)
      : progress_(progress), total_(total) {}
  void reach(std::int64_t done) {
    if (!progress_ || (done < next_ && done != total_)) return;
    progress_(done, total_);
    next_ = done + kMiB;
  }

 private:
  const PrepareProgress& progress_;
  std::int64_t total_;
  std::int64_t next_ = 0;
};

struct Census {
  std::int64_t character_count = 0;
  std::u32string vocabulary;  // sorted
};

Census take_census(const InputFile& file, ProgressMeter& meter) {
  const auto seen = std::make_unique<std::bitset<kMaxCodePoint + 1>>();
  Census census;
  CharStream stream(file);
  while (const std::optional<char32_t> character = stream.next()) {
    seen->set(*character);
    ++census.character_count;
    meter.reach(stream.position());
  }
  for (char32_t code_point = 0; code_point <= kMaxCodePoint; ++code_point) {
    if (seen->test(code_point)) census.vocabulary += code_point;
  }
  return census;
}

void check_census(const Census& census, std::int64_t train_count, const std::string& name) {
  if (static_cast<std::int64_t>(census.vocabulary.size()) > kMaxCharVocab) {
    throw DataError(fmt::format(
        "{} has {} different characters\nwanted at most {}, for a token is "
        "16 bits\nit may not be text; if it is, use a BPE vocabulary",
        name, with_thousands(std::ssize(census.vocabulary)), with_thousands(kMaxCharVocab)));
  }
  if (census.character_count == 0) {
    throw DataError(fmt::format("{} is empty\ngive a file with text in it", name));
  }
  if (train_count < kMinSplitTokens || census.character_count - train_count < kMinSplitTokens) {
    throw DataError(
        fmt::format("{} is too small: {} characters\nthe last tenth is kept for "
                    "validation and needs at least {}\ngive it more text",
                    name, census.character_count, kMinSplitTokens));
  }
}

// The text may lie in the folder it is prepared into, but not under a name that is written there.
void check_paths(const fs::path& text_file, const fs::path& directory) {
  for (const char* output : {"train.bin", "val.bin", "meta.pkl"}) {
    std::error_code missing;
    if (fs::equivalent(text_file, directory / output, missing)) {
      throw DataError(
          fmt::format("{} would be overwritten by its own dataset\nchoose another "
                      "folder for the dataset",
                      text_file.string()));
    }
  }
}

[[noreturn]] void fail_changed(const InputFile& file) {
  throw DataError(
      fmt::format("{} changed while it was being read\nrun the command again when "
                  "nothing writes to it",
                  file.name()));
}

void write_tokens(const InputFile& file, const Census& census, std::int64_t train_count,
                  CharDatasetWriter& writer, ProgressMeter& meter) {
  CharStream stream(file);
  std::int64_t count = 0;
  while (const std::optional<char32_t> character = stream.next()) {
    const bool known =
        count < train_count ? writer.add_train(*character) : writer.add_val(*character);
    ++count;
    if (!known || count > census.character_count) fail_changed(file);
    meter.reach(file.byte_count() + stream.position());
  }
  if (count != census.character_count) fail_changed(file);
}

}  // namespace

PrepareSummary prepare_char(const fs::path& text_file, const fs::path& directory,
                            const PrepareProgress& progress) {
  const InputFile file(text_file);
  check_paths(text_file, directory);
  ProgressMeter meter(progress, 2 * file.byte_count());
  const Census census = take_census(file, meter);
  // int(n * 0.9), in double precision, as prepare.py computes it.
  const auto train_count =
      static_cast<std::int64_t>(static_cast<double>(census.character_count) * 0.9);
  check_census(census, train_count, file.name());

  CharDatasetWriter writer(directory, census.vocabulary);
  write_tokens(file, census, train_count, writer, meter);
  writer.publish(std::nullopt);

  PrepareSummary summary;
  summary.character_count = census.character_count;
  summary.vocab_size = std::ssize(census.vocabulary);
  summary.train_token_count = train_count;
  summary.val_token_count = census.character_count - train_count;
  for (const char32_t character : census.vocabulary) append_utf8(character, summary.vocabulary);
  return summary;
}

}  // namespace snug::data
