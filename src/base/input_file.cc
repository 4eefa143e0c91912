#include "base/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"

namespace snug {
namespace {

// O_NONBLOCK lets a FIFO be recognised instead of waited for; it means nothing to regular files.
int open_for_reading(const std::string& name) {
  const int descriptor = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor >= 0) return descriptor;
  switch (const int reason = errno) {
    case ENOENT:
    case ENOTDIR:
    case EACCES:
    case EPERM:
    case ELOOP:
    case ENAMETOOLONG:
      throw CannotOpen(name, reason);
    default:
      throw DeviceError(fmt::format("cannot open {}: {}\ntry again; if it stays, check the disk",
                                    name, std::strerror(reason)));
  }
}

const char* advice_for(int reason) {
  return reason == EACCES || reason == EPERM ? "give yourself permission to read it (chmod u+r)"
                                             : "check the path";
}

}  // namespace

CannotOpen::CannotOpen(const std::string& name, int reason)
    : DataError(
          fmt::format("cannot open {}: {}\n{}", name, std::strerror(reason), advice_for(reason))),
      error_number(reason) {}

InputFile::InputFile(const std::filesystem::path& path)
    : name_(path.string()), descriptor_(open_for_reading(name_)) {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) {
    const int reason = errno;
    ::close(descriptor_);
    throw DeviceError(fmt::format("cannot look at {}: {}\ntry again; if it stays, check the disk",
                                  name_, std::strerror(reason)));
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw DataError(fmt::format("{} is {}, not a file\nname the file itself", name_,
                                S_ISDIR(status.st_mode) ? "a folder" : "a pipe or device"));
  }
  byte_count_ = status.st_size;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : name_(std::move(other.name_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      byte_count_(other.byte_count_) {}

std::int64_t InputFile::current_byte_count() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) == 0) return status.st_size;
  throw DeviceError(fmt::format("cannot look at {}: {}", name_, std::strerror(errno)));
}

std::int64_t InputFile::read_at(std::int64_t offset, std::span<std::byte> out) const {
  std::int64_t done = 0;
  const auto wanted = static_cast<std::int64_t>(out.size());
  while (done < wanted) {
    const std::int64_t got = read_some(out.subspan(static_cast<std::size_t>(done)), offset + done);
    if (got > 0) done += got;
    if (got == 0) break;
    if (got < 0 && errno != EINTR) {
      throw DeviceError(fmt::format("cannot read {} at byte {}: {}\ncheck the disk it is on", name_,
                                    with_thousands(offset + done), std::strerror(errno)));
    }
  }
  return done;
}

std::int64_t InputFile::read_some(std::span<std::byte> out, std::int64_t offset) const {
  return ::pread(descriptor_, out.data(), out.size(), offset);
}

void InputFile::read_exactly(std::int64_t offset, std::span<std::byte> out) const {
  const std::int64_t got = read_at(offset, out);
  if (got < static_cast<std::int64_t>(out.size())) {
    throw DataError(fmt::format("cannot read {}: it ends at byte {}", name_, offset + got));
  }
}

std::string read_whole_file(const std::filesystem::path& path, std::int64_t limit_bytes) {
  return read_whole_file(InputFile(path), limit_bytes);
}

std::string read_whole_file(const InputFile& file, std::int64_t limit_bytes) {
  if (file.byte_count() > limit_bytes) {
    throw DataError(
        fmt::format("{} holds {}, more than the {} a file of its kind may have\n"
                    "check that it is the right file",
                    file.name(), format_bytes(file.byte_count()), format_bytes(limit_bytes)));
  }
  std::string bytes(static_cast<std::size_t>(file.byte_count()), '\0');
  const std::int64_t got = file.read_at(0, std::as_writable_bytes(std::span(bytes)));
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

}  // namespace snug
