#include "train/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/bytes.h"
#include "base/error.h"
#include "base/input_file.h"
#include "config/gpt_sizes.h"

namespace snug::train {
namespace {

constexpr std::int64_t kSampleBytes = 64 * kKiB;
constexpr std::int64_t kSampleCount = 256;

void update(checkpoint::Checksum& checksum, const InputFile& file, std::int64_t begin,
            std::int64_t end) {
  std::vector<std::byte> buffer(static_cast<std::size_t>(kSampleBytes));
  for (std::int64_t at = begin; at < end; at += kSampleBytes) {
    const auto piece =
        std::span(buffer).first(static_cast<std::size_t>(std::min(kSampleBytes, end - at)));
    file.read_exactly(at, piece);
    checksum.update(piece);
  }
}

// Size and beginning of each.
checkpoint::DataFileRecord shards_record(const std::string& name,
                                         const std::vector<std::string>& files) {
  checkpoint::Checksum checksum;
  std::int64_t byte_count = 0;
  for (const std::string& each : files) {
    const InputFile file(each);
    update(checksum, file, 0, std::min(kSampleBytes, file.byte_count()));
    byte_count += file.byte_count();
  }
  return {std::filesystem::path(name).filename().string(), {byte_count, checksum.value()}};
}

std::string size_text(std::int64_t bytes) { return fmt::format("{} bytes", with_thousands(bytes)); }

}  // namespace

checkpoint::TokenizerRecord tokenizer_record(const data::Vocabulary& vocabulary) {
  if (vocabulary.meta && !vocabulary.meta->itos.empty()) {
    return {checkpoint::kCharTokenizer, vocabulary.meta->itos};
  }
  if (!vocabulary.meta && vocabulary.size >= config::kGpt2Vocabulary)
    return {checkpoint::kGpt2Tokenizer, {}};
  return {};
}

data::Meta meta_of(const checkpoint::TokenizerRecord& record) {
  return data::make_meta(record.characters);
}

checkpoint::DataFileRecord data_file_record(const data::TokenSource& tokens) {
  const std::vector<std::string> files = tokens.files();
  if (files.size() > 1) return shards_record(tokens.name(), files);
  const InputFile file(files.front());
  const std::int64_t byte_count = file.byte_count();
  checkpoint::Checksum checksum;
  if (byte_count <= data::TokenFile::kCheckAllLimitBytes) {
    update(checksum, file, 0, byte_count);
  } else {
    for (std::int64_t i = 0; i < kSampleCount; ++i) {
      const std::int64_t begin = (byte_count - kSampleBytes) / (kSampleCount - 1) * i;
      update(checksum, file, begin, begin + kSampleBytes);
    }
  }
  return {std::filesystem::path(tokens.name()).filename().string(), {byte_count, checksum.value()}};
}

checkpoint::ArithmeticRecord arithmetic_record(const device::Device& device) {
  return {device.instruction_set(), device.target().threads()};
}

void require_same_tokenizer(const checkpoint::TokenizerRecord& saved,
                            const checkpoint::TokenizerRecord& now, const std::string& folder) {
  if (saved.kind.empty() || now.kind.empty() || saved == now) return;
  const auto tell = [](const checkpoint::TokenizerRecord& record) {
    if (record.kind != checkpoint::kCharTokenizer) return record.kind;
    return fmt::format("{} characters", record.characters.size());
  };
  std::string where;
  if (saved.kind == now.kind) {
    const auto [first, other] = std::ranges::mismatch(saved.characters, now.characters);
    where = fmt::format(", which differ from id {} on", first - saved.characters.begin());
  }
  throw DataError(fmt::format(
      "{} has another alphabet than the checkpoint: its tokens mean other text\n"
      "the model was trained with {}, the data set has {}{}\n"
      "name the data set that the model was trained on with --dataset, or start anew with "
      "--init_from=scratch",
      folder, tell(saved), tell(now), where));
}

std::vector<std::string> tell_changes(const checkpoint::RunRecords& saved,
                                      const checkpoint::RunRecords& now,
                                      const std::string& folder) {
  std::vector<std::string> lines;
  for (const checkpoint::DataFileRecord& before : saved.data_files) {
    const auto same_name = [&](const checkpoint::DataFileRecord& file) {
      return file.name == before.name;
    };
    const auto file = std::ranges::find_if(now.data_files, same_name);
    if (file == now.data_files.end() || file->digest == before.digest) continue;
    const bool same_size = file->digest.byte_count == before.digest.byte_count;
    lines.push_back(fmt::format(
        "{}/{} is not the file that the run was trained on ({}): training goes on, but not as it "
        "would have",
        folder, file->name,
        same_size ? "other content of the same size"
                  : fmt::format("{}, it had {}", size_text(file->digest.byte_count),
                                size_text(before.digest.byte_count))));
  }
  const checkpoint::ArithmeticRecord &then = saved.arithmetic, &here = now.arithmetic;
  if (!then.instruction_set.empty() && then != here) {
    lines.push_back(fmt::format(
        "the run was computed with {} and {} threads, now it is {} and {}: results may differ in "
        "the last bits",
        then.instruction_set, then.thread_count, here.instruction_set, here.thread_count));
  }
  return lines;
}

}  // namespace snug::train
