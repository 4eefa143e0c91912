// Writes a zip archive of stored entries through libzip. What is added is asked for, piece by
// piece, when finish() writes the file.
#pragma once

#include <zip.h>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace snug::formats::torch {

class ZipWriter {
 public:
  // Fills the bytes of an entry from `offset` on.
  using Fill = std::function<void(std::int64_t offset, std::span<std::byte> out)>;

  // The file must not exist yet.
  explicit ZipWriter(const std::filesystem::path& path);

  void add(const std::string& name, std::string content);
  void add(const std::string& name, std::int64_t byte_count, Fill fill);

  // Writes the file. What a Fill throws passes through; otherwise throws DeviceError. A file that
  // is not finished does not appear.
  void finish();

 private:
  struct Discard {
    void operator()(zip_t* archive) const { zip_discard(archive); }
  };
  std::string name_;
  std::unique_ptr<zip_t, Discard> archive_;
  std::exception_ptr thrown_;  // by a Fill, while libzip was on the stack
};

}  // namespace snug::formats::torch
