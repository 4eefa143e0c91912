// Files of tensors in the safetensors format, written from and read into the caller's tensors piece
// by piece: the memory needed beyond the tensors is that of the header.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/input_file.h"
#include "base/tensor_bytes.h"
#include "checkpoint/checksum.h"
#include "checkpoint/file_system.h"
#include "checkpoint/safetensors_header.h"
#include "checkpoint/tensor_label.h"

namespace snug::checkpoint {

// The bytes that write_safetensors will write for these tensors.
std::int64_t safetensors_bytes(std::span<const NamedTensor> tensors);

// Writes the tensors in the order given and makes the file durable. The same tensors give the same
// file, byte for byte. Throws FileError; the file is then incomplete and the caller's to remove.
FileDigest write_safetensors(FileSystem& file_system, const Path& path,
                             std::span<const NamedTensor> tensors, TensorBytes& bytes);

class SafetensorsReader {
 public:
  // Opens the file and checks its header in full against the size of the file. Throws DataError
  // that names the file and what is wrong with it; no claim of the file is trusted or allocated.
  explicit SafetensorsReader(const Path& path);
  explicit SafetensorsReader(std::unique_ptr<InputFile> file);

  // In the order of their data.
  std::span<const SafetensorsEntry> entries() const noexcept { return header_.entries; }
  // Where the data starts in the file: offsets of entries count from here.
  std::int64_t data_start() const noexcept { return data_start_; }
  // The strings that the file carries beside its tensors.
  const std::map<std::string, std::string>& metadata() const noexcept { return header_.metadata; }

  // Fills every tensor from the one of its name. The names, dtypes and shapes must be those of the
  // file, all of them, in any order; that is checked before a byte of a tensor changes. When
  // `checksum` is given and the bytes read do not have it, throws DataError with the tensors
  // filled.
  void read_all(std::span<const NamedTensor> tensors, TensorBytes& bytes,
                std::optional<std::uint64_t> checksum = std::nullopt) const;

  // Fills one tensor from the entry of its name, dtype and shape.
  void read(const SafetensorsEntry& entry, const NamedTensor& tensor, TensorBytes& bytes) const;

 private:
  void read_data(const SafetensorsEntry& entry, const NamedTensor& tensor, TensorBytes& bytes,
                 Checksum& checksum) const;

  std::unique_ptr<InputFile> file_;
  Checksum header_checksum_;  // of everything before the data
  std::int64_t data_start_ = 0;
  SafetensorsHeader header_;
};

}  // namespace snug::checkpoint
