// A regular file open for reading by position. All data and checkpoints are read through it: pread
// keeps pages out of our resident memory and turns a shrinking file into an error, not a SIGBUS.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/error.h"

namespace snug {

// The file is not there, or may not be read.
struct CannotOpen : DataError {
  CannotOpen(const std::string& name, int error_number);
  int error_number;
};

class InputFile {
 public:
  // Throws CannotOpen, DataError when `path` is not a regular file, DeviceError when the system
  // cannot tell (an I/O error, too many open files).
  explicit InputFile(const std::filesystem::path& path);
  virtual ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Both are as they were at opening.
  const std::string& name() const noexcept { return name_; }
  std::int64_t byte_count() const noexcept { return byte_count_; }

  // The size now, which differs from byte_count() when someone changed the file.
  std::int64_t current_byte_count() const;

  // Fills `out` from `offset` and returns the bytes read: fewer only at the end of the file.
  // Allocates nothing; any number of threads may read. Throws DeviceError when the device fails.
  std::int64_t read_at(std::int64_t offset, std::span<std::byte> out) const;

  // As read_at, but a file that ends before `out` is full is a DataError.
  void read_exactly(std::int64_t offset, std::span<std::byte> out) const;

 protected:
  // One pread, which a test may make fail: bytes read, or -1 with errno.
  virtual std::int64_t read_some(std::span<std::byte> out, std::int64_t offset) const;

 private:
  std::string name_;
  int descriptor_ = -1;
  std::int64_t byte_count_ = 0;
};

// The bytes of a small file; throws DataError when it holds more than `limit_bytes`.
std::string read_whole_file(const std::filesystem::path& path, std::int64_t limit_bytes);
std::string read_whole_file(const InputFile& file, std::int64_t limit_bytes);

}  // namespace snug
