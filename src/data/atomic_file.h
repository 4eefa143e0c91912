// A file that appears whole or not at all: written under a temporary name beside its own, made
// durable, then renamed. A dataset stages all its files before it publishes the first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace snug::data {

// Why a file that is not our own is not written, and what to do.
inline constexpr const char* kWhyOwn =
    "Snug writes only to files of its own there, for a folder may come from anyone\n"
    "move it away, or name another folder";

class AtomicFile {
 public:
  // Opens `path` + ".partial", replacing what an interrupted run may have left there. Throws
  // DeviceError when that is impossible or another process is writing the same file, ConfigError
  // when a link, a pipe or a file with another name stands there.
  explicit AtomicFile(const std::filesystem::path& path);
  // Removes the temporary file unless it was published.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Each throws DeviceError (disk full, I/O failure), after which the file cannot be published.
  void append(std::string_view bytes);  // buffered, kBufferBytes of memory
  void stage();                         // every byte is on the disk, under the temporary name
  void publish();                       // after stage(): takes the real name, replacing the old

 private:
  static constexpr std::size_t kBufferBytes = 1 << 16;

  void flush();
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  std::string partial_path_;
  std::string buffer_;
  std::int64_t written_bytes_ = 0;
  int descriptor_ = -1;
  bool published_ = false;
};

// Writes `text` to `path`. A file appears whole or not at all; of a link its target is written; a
// device or pipe is written to directly. Throws DeviceError.
void write_file(const std::filesystem::path& path, std::string_view text);

// Makes `directory` and its parents; throws DeviceError when it cannot.
void create_output_directory(const std::filesystem::path& directory);

}  // namespace snug::data
