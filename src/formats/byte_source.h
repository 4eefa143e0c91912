// Bytes by position, wherever they lie: a file, or an entry of an archive.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/input_file.h"

namespace snug::formats {

// A file that stays open for as long as something lies in it.
class OpenFile {
 public:
  virtual ~OpenFile() = default;
};

class ByteSource : public OpenFile {
 public:
  // Fills `out` from `offset` on, which lies within byte_count(). Throws DataError or DeviceError,
  // naming the file, when it is damaged or cannot be read.
  virtual void read(std::int64_t offset, std::span<std::byte> out) const = 0;
  virtual std::int64_t byte_count() const = 0;
};

class FileBytes : public ByteSource {
 public:
  explicit FileBytes(const std::filesystem::path& path) : file_(path) {}

  void read(std::int64_t offset, std::span<std::byte> out) const override {
    file_.read_exactly(offset, out);
  }
  std::int64_t byte_count() const override { return file_.byte_count(); }
  const std::string& name() const { return file_.name(); }

 private:
  InputFile file_;
};

// Throws DataError for what Git leaves in place of a large file that it did not fetch.
void refuse_lfs_pointer(const std::filesystem::path& path);

}  // namespace snug::formats
