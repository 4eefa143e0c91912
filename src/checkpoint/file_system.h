// All that a checkpoint asks of a disk, changes and looks, each a virtual function, so that a test
// can make any one of them fail or be the last one before a crash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/input_file.h"

namespace snug::checkpoint {

using Path = std::filesystem::path;

// "cannot <action> <path>: <reason of the system>".
struct FileError : DeviceError {
  FileError(std::string_view action, const Path& path, int error_number);
  int error_number;
};

// The real disk. A subclass may refuse, shorten or count what passes through it.
// Every function throws FileError on failure and leaves nothing open.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // A file descriptor of a new, empty file; the caller closes it. What has the name already, a link
  // that leads elsewhere above all, is an error.
  virtual int create_file(const Path& path);
  // Writes at least one byte and possibly fewer than given; returns how many. `bytes` not empty.
  virtual std::size_t write_some(int descriptor, const Path& path,
                                 std::span<const std::byte> bytes);
  // The bytes of the file are on the disk when it returns.
  virtual void sync_file(int descriptor, const Path& path);

  // False when something of that name exists already.
  virtual bool create_folder(const Path& path);
  virtual void create_link(const Path& target, const Path& path);
  // Atomic; replaces a file or link of the new name, never a folder that holds anything.
  virtual void rename(const Path& from, const Path& to);
  virtual void remove_file(const Path& path);
  virtual void remove_empty_folder(const Path& path);
  // The names in the folder are on the disk when it returns.
  virtual void sync_folder(const Path& path);

  // What the name itself is, a link not followed; not_found when there is nothing.
  virtual std::filesystem::file_type kind(const Path& path);
  // Every entry, in no order. A folder that is not there is an error (ENOENT).
  virtual std::vector<Path> list(const Path& folder);
  virtual Path read_link(const Path& path);
  // A regular file. DataError when it is not there or something else; FileError when that cannot
  // be told, so that only what is certain counts as missing.
  virtual std::unique_ptr<InputFile> open_file(const Path& path);

  // What an ordinary user may still write to the file system that holds `folder`; nothing where it
  // has no size, such as /proc, and does not count bytes: a write tells.
  virtual std::optional<std::int64_t> free_bytes(const Path& folder);
};

// A file being written, straight from the caller's memory. `finish` makes it durable; a file that
// is destroyed without it is closed, and its content is undefined.
class OutputFile {
 public:
  OutputFile(FileSystem& file_system, Path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void finish();

 private:
  FileSystem& file_system_;
  Path path_;
  int descriptor_;
};

// Marks a folder as in use by this process until destroyed or the process ends, however it ends.
// Advisory: `held` is false when another process has it, true where locks are not supported.
class FolderLock {
 public:
  // Throws FileError when the folder cannot be opened, or locked for another reason.
  explicit FolderLock(const Path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  bool held() const noexcept { return held_; }
  bool supported() const noexcept { return supported_; }
  // Whether `path` still leads to this folder; false when the folder was moved or removed.
  bool is_at(const Path& path) const;

 private:
  int descriptor_;
  bool held_ = true, supported_ = true;
};

}  // namespace snug::checkpoint
