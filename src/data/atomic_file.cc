#include "data/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/bytes.h"
#include "base/error.h"
#include "base/own_file.h"

namespace snug::data {
namespace {

// Whether `path` still names the open file `descriptor`: another process may have published it
// between our open and our lock.
bool names_same_file(const std::string& path, int descriptor) {
  struct stat by_path {
  }, by_descriptor{};
  return ::stat(path.c_str(), &by_path) == 0 && ::fstat(descriptor, &by_descriptor) == 0 &&
         by_path.st_ino == by_descriptor.st_ino && by_path.st_dev == by_descriptor.st_dev;
}

// Returns false with errno set.
bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::write(descriptor, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(got));
  }
  return true;
}

void write_to_device(const std::filesystem::path& path, std::string_view text) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool written = descriptor >= 0 && write_all(descriptor, text);
  const int reason = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (written) return;
  throw DeviceError(
      fmt::format("cannot write to {}: {}\nname a file", path.string(), std::strerror(reason)));
}

// Makes a rename durable. Not every file system can, and the rename has happened: errors pass.
void sync_directory_of(const std::string& path) {
  std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (parent.empty()) parent = ".";
  const int descriptor = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path)
    : path_(path.string()), partial_path_(path_ + ".partial") {
  descriptor_ = open_own_file(partial_path_, O_WRONLY, kWhyOwn);
  if (descriptor_ < 0) fail("cannot create");
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(descriptor_);
    throw DeviceError(
        fmt::format("{} is being written by another process\nwait for it to end", partial_path_));
  }
  if (!names_same_file(partial_path_, descriptor_)) {
    ::close(descriptor_);
    throw DeviceError(fmt::format("{} was just written by another process\ntry again", path_));
  }
  if (::ftruncate(descriptor_, 0) != 0) {
    const int reason = errno;
    ::close(descriptor_);
    errno = reason;
    fail("cannot empty");
  }
  buffer_.reserve(kBufferBytes);
}

AtomicFile::~AtomicFile() {
  if (!published_) ::unlink(partial_path_.c_str());  // before the lock goes with the descriptor
  if (descriptor_ >= 0) ::close(descriptor_);
}

void AtomicFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    if (buffer_.size() == kBufferBytes) flush();
    const std::size_t count = std::min(bytes.size(), kBufferBytes - buffer_.size());
    buffer_.append(bytes.substr(0, count));
    bytes.remove_prefix(count);
  }
}

void AtomicFile::flush() {
  if (!write_all(descriptor_, buffer_)) fail("cannot write");
  written_bytes_ += static_cast<std::int64_t>(buffer_.size());
  buffer_.clear();
}

void AtomicFile::stage() {
  flush();
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail("cannot write to the disk");
}

void AtomicFile::publish() {
  if (::rename(partial_path_.c_str(), path_.c_str()) != 0) fail("cannot put in place");
  published_ = true;
  sync_directory_of(path_);
}

void AtomicFile::fail(const char* what) const {
  const int reason = errno;
  const bool full = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
  const std::string done =
      written_bytes_ > 0 ? fmt::format("{} were written; ", format_bytes(written_bytes_)) : "";
  throw DeviceError(fmt::format(
      "{} {}: {}\n{}what stood there before is untouched\n{}", what, path_, std::strerror(reason),
      done,
      full ? "free some space or choose another folder" : "check the folder and its permissions"));
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  const bool is_file = !std::filesystem::exists(status) || is_regular_file(status);
  if (!is_file && !is_directory(status)) return write_to_device(path, text);
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  AtomicFile file(is_symlink(std::filesystem::symlink_status(path)) && !error ? real : path);
  file.append(text);
  file.stage();
  file.publish();
}

void create_output_directory(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (!error && std::filesystem::is_directory(directory)) return;
  throw DeviceError(fmt::format("cannot create the folder {}: {}\nchoose another folder",
                                directory.string(),
                                error ? error.message() : "a file of that name is in the way"));
}

}  // namespace snug::data
