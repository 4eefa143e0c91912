#include "data/char_dataset_writer.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "data/dataset_publication.h"

namespace snug::data {
namespace {

std::filesystem::path made(const std::filesystem::path& directory) {
  create_output_directory(directory);
  return directory;
}

std::vector<std::int32_t> id_table(const std::u32string& vocabulary) {
  const char32_t largest =
      vocabulary.empty() ? 0 : *std::max_element(vocabulary.begin(), vocabulary.end());
  std::vector<std::int32_t> ids(std::size_t{largest} + 1, -1);
  for (std::size_t id = 0; id < vocabulary.size(); ++id) {
    ids[vocabulary[id]] = static_cast<std::int32_t>(id);
  }
  return ids;
}

}  // namespace

Meta meta_of(const std::u32string& vocabulary) {
  std::vector<std::string> itos(vocabulary.size());
  for (std::size_t id = 0; id < vocabulary.size(); ++id) append_utf8(vocabulary[id], itos[id]);
  return make_meta(std::move(itos));
}

CharDatasetWriter::CharDatasetWriter(const std::filesystem::path& directory,
                                     const std::u32string& vocabulary)
    : directory_(directory),
      meta_(meta_of(vocabulary)),
      ids_(id_table(vocabulary)),
      train_(made(directory) / "train.bin"),
      val_(directory / "val.bin"),
      meta_file_(directory / "meta.pkl") {}

bool CharDatasetWriter::add(char32_t character, AtomicFile& file) {
  if (character >= ids_.size() || ids_[character] < 0) return false;
  const auto id = static_cast<std::uint16_t>(ids_[character]);
  const std::array<char, 2> bytes{static_cast<char>(id & 0xFF), static_cast<char>(id >> 8)};
  file.append({bytes.data(), bytes.size()});
  return true;
}

void CharDatasetWriter::publish(std::optional<double> entropy_floor) {
  meta_.entropy_floor = entropy_floor;
  meta_file_.append(pickle_of(meta_));
  const std::array files{&train_, &val_, &meta_file_};
  publish_together(directory_, files);
}

}  // namespace snug::data
