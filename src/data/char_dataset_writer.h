// Writes a character dataset as nanoGPT has it: train.bin, val.bin (uint16) and meta.pkl. All three
// are complete on the disk before the first takes its name; until then an older dataset stays. They
// take their names together, see dataset_publication.h.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/atomic_file.h"
#include "data/meta.h"

namespace snug::data {

constexpr std::int64_t kMaxCharVocab = 65536;  // ids are uint16

// Meta of the characters of `vocabulary`, numbered in its order.
Meta meta_of(const std::u32string& vocabulary);

class CharDatasetWriter {
 public:
  // Makes `directory`. `vocabulary` has at most kMaxCharVocab characters. Throws DeviceError, as
  // all that follows.
  CharDatasetWriter(const std::filesystem::path& directory, const std::u32string& vocabulary);

  // False, and nothing is written, for a character outside the vocabulary.
  [[nodiscard]] bool add_train(char32_t character) { return add(character, train_); }
  [[nodiscard]] bool add_val(char32_t character) { return add(character, val_); }

  // Puts the dataset in place; `entropy_floor` is Meta's.
  void publish(std::optional<double> entropy_floor);

 private:
  bool add(char32_t character, AtomicFile& file);

  std::filesystem::path directory_;
  Meta meta_;
  std::vector<std::int32_t> ids_;  // by code point, -1 where there is none
  AtomicFile train_, val_, meta_file_;
};

}  // namespace snug::data
