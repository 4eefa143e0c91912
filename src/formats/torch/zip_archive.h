// The entries of a zip archive that are stored as they are, as torch.save stores them, through
// libzip. Compressed entries are refused.
#pragma once

#include <zip.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/byte_source.h"

namespace snug::formats::torch {

class ZipArchive {
 public:
  // Throws DataError for what is not a whole zip archive.
  explicit ZipArchive(const std::filesystem::path& path);

  struct Entry {
    std::string name;
    std::int64_t byte_count;
    std::uint64_t index;
  };
  const std::vector<Entry>& entries() const { return entries_; }
  // Null when there is none.
  const Entry* find(const std::string& name) const;

  const std::string& name() const { return name_; }
  zip_t* handle() const { return archive_.get(); }

 private:
  struct Closer {
    void operator()(zip_t* archive) const { zip_discard(archive); }
  };
  std::string name_;
  std::unique_ptr<zip_t, Closer> archive_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

// One entry, open for reading by position. The first read goes through all of it and compares its
// checksum. The archive must outlive it.
class ZipBytes : public ByteSource {
 public:
  ZipBytes(const ZipArchive& archive, ZipArchive::Entry entry);

  void read(std::int64_t offset, std::span<std::byte> out) const override;
  std::int64_t byte_count() const override { return entry_.byte_count; }

 private:
  struct Closer {
    void operator()(zip_file_t* file) const { zip_fclose(file); }
  };
  void open() const;
  [[noreturn]] void fail(const std::string& why) const;

  const ZipArchive& archive_;
  ZipArchive::Entry entry_;
  mutable std::unique_ptr<zip_file_t, Closer> file_;
  mutable std::int64_t at_ = 0;
};

}  // namespace snug::formats::torch
