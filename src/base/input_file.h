// A regular file open for reading by position. All data and checkpoints are read through it: pread
// keeps pages out of our resident memory and turns a shrinking file into an error, not a SIGBUS.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace snug {

class InputFile {
 public:
  // Throws DataError when `path` is missing, unreadable, or not a regular file.
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
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

 private:
  std::string name_;
  int descriptor_ = -1;
  std::int64_t byte_count_ = 0;
};

// The bytes of a small file; throws DataError when it holds more than `limit_bytes`.
std::string read_whole_file(const std::filesystem::path& path, std::int64_t limit_bytes);

}  // namespace snug
