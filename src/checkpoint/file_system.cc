#include "checkpoint/file_system.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace snug::checkpoint {
namespace {

// Repeats the call as long as a signal interrupts it.
template <typename Call>
auto retried(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

void require(bool done, std::string_view action, const Path& path) {
  if (!done) throw FileError(action, path, errno);
}

}  // namespace

FileError::FileError(std::string_view action, const Path& path, int error)
    : DeviceError(fmt::format("cannot {} {}: {}", action, path.string(),
                              std::generic_category().message(error))),
      error_number(error) {}

int FileSystem::create_file(const Path& path) {
  const int descriptor = retried([&] {
    return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  });
  require(descriptor >= 0, "create", path);
  return descriptor;
}

std::size_t FileSystem::write_some(int descriptor, const Path& path,
                                   std::span<const std::byte> bytes) {
  const ssize_t written = retried([&] { return ::write(descriptor, bytes.data(), bytes.size()); });
  if (written == 0) errno = EIO;
  require(written > 0, "write", path);
  return static_cast<std::size_t>(written);
}

void FileSystem::sync_file(int descriptor, const Path& path) {
  require(retried([&] { return ::fsync(descriptor); }) == 0, "sync", path);
}

bool FileSystem::create_folder(const Path& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return true;
  require(errno == EEXIST, "create folder", path);
  return false;
}

void FileSystem::create_link(const Path& target, const Path& path) {
  require(::symlink(target.c_str(), path.c_str()) == 0, "create link", path);
}

void FileSystem::rename(const Path& from, const Path& to) {
  require(::rename(from.c_str(), to.c_str()) == 0,
          fmt::format("rename {} to", from.filename().string()), to);
}

void FileSystem::remove_file(const Path& path) {
  require(::unlink(path.c_str()) == 0, "remove", path);
}

void FileSystem::remove_empty_folder(const Path& path) {
  require(::rmdir(path.c_str()) == 0, "remove folder", path);
}

void FileSystem::sync_folder(const Path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  require(descriptor >= 0, "open folder", path);
  const bool synced = retried([&] { return ::fsync(descriptor); }) == 0;
  const int error = errno;
  ::close(descriptor);
  // EINVAL: this kind of file system has no such operation on folders.
  if (!synced && error != EINVAL) throw FileError("sync folder", path, error);
}

std::filesystem::file_type FileSystem::kind(const Path& path) {
  std::error_code error;
  const auto type = std::filesystem::symlink_status(path, error).type();
  if (type == std::filesystem::file_type::not_found) return type;
  if (error) throw FileError("look at", path, error.value());
  return type;
}

std::vector<Path> FileSystem::list(const Path& folder) {
  std::vector<Path> entries;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    entries.push_back(entry->path());
  }
  if (error) throw FileError("list", folder, error.value());
  return entries;
}

Path FileSystem::read_link(const Path& path) {
  std::error_code error;
  Path target = std::filesystem::read_symlink(path, error);
  if (error) throw FileError("read the link", path, error.value());
  return target;
}

std::unique_ptr<InputFile> FileSystem::open_file(const Path& path) try {
  return std::make_unique<InputFile>(path);
} catch (const CannotOpen& error) {
  if (error.error_number == ENOENT || error.error_number == ENOTDIR) throw;
  throw FileError("open", path, error.error_number);
}

std::optional<std::int64_t> FileSystem::free_bytes(const Path& folder) {
  std::error_code error;
  const auto space = std::filesystem::space(folder, error);
  if (error) throw FileError("read the free space of", folder, error.value());
  if (space.capacity == 0) return std::nullopt;
  return static_cast<std::int64_t>(space.available);
}

OutputFile::OutputFile(FileSystem& file_system, Path path)
    : file_system_(file_system),
      path_(std::move(path)),
      descriptor_(file_system_.create_file(path_)) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    bytes = bytes.subspan(file_system_.write_some(descriptor_, path_, bytes));
  }
}

void OutputFile::finish() {
  file_system_.sync_file(descriptor_, path_);
  const int result = ::close(std::exchange(descriptor_, -1));
  require(result == 0 || errno == EINTR, "close", path_);  // closed in either case
}

FolderLock::FolderLock(const Path& folder)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  require(descriptor_ >= 0, "open folder", folder);
  if (retried([&] { return ::flock(descriptor_, LOCK_EX | LOCK_NB); }) == 0) return;
  const int error = errno;
  held_ = error != EWOULDBLOCK;
  supported_ = !held_;
  if (!held_ || error == EOPNOTSUPP || error == ENOSYS || error == EINVAL || error == ENOLCK) {
    return;
  }
  ::close(descriptor_);
  throw FileError("lock", folder, error);
}

bool FolderLock::is_at(const Path& path) const {
  struct stat here {
  }, there{};
  return ::fstat(descriptor_, &here) == 0 && ::stat(path.c_str(), &there) == 0 &&
         here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace snug::checkpoint
