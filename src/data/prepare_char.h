// Makes a character dataset from a text file, with train.bin and val.bin the very bytes nanoGPT's
// prepare.py makes. Reads the text twice in constant memory, however large it is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace snug::data {

// Called now and then with the bytes done and in all (twice the file, for it is read twice).
using PrepareProgress = std::function<void(std::int64_t done, std::int64_t total)>;

struct PrepareSummary {
  std::int64_t character_count = 0;
  std::int64_t vocab_size = 0;
  std::int64_t train_token_count = 0;
  std::int64_t val_token_count = 0;
  std::string vocabulary;  // UTF-8, sorted by code point
};

// Writes train.bin, val.bin and meta.pkl into `directory`, which is made if it is missing; older
// ones stay until all three are whole. Throws DataError for text that cannot be used and
// DeviceError when writing fails; then nothing has changed.
PrepareSummary prepare_char(const std::filesystem::path& text_file,
                            const std::filesystem::path& directory,
                            const PrepareProgress& progress = {});

}  // namespace snug::data
