#include "prepare/raw_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace snug::prepare {

RawStream::RawStream(const std::string& name) : RawStream(name, name) {}

RawStream::RawStream(const std::string& path, const std::string& called)
    : name_(called == kStandardInput ? "standard input" : called) {
  descriptor_ =
      path == kStandardInput ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    throw DataError(fmt::format("{} cannot be read: {}", name_, std::strerror(errno)));
  }
  struct stat facts {};
  if (::fstat(descriptor_, &facts) == 0 && S_ISDIR(facts.st_mode)) {
    ::close(descriptor_);
    throw DataError(
        fmt::format("{} is a folder; name its files, for example '{}/*.txt'", name_, name_));
  }
}

RawStream::~RawStream() { ::close(descriptor_); }

std::size_t RawStream::read_descriptor(std::span<char> out) {
  for (;;) {
    const ssize_t count = ::read(descriptor_, out.data(), out.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) {
      throw DeviceError(fmt::format("{} cannot be read: {}", name_, std::strerror(errno)));
    }
  }
}

std::string_view RawStream::head() {
  while (head_.size() < kHeadBytes) {
    char bytes[kHeadBytes];
    const std::size_t count = read_descriptor({bytes, kHeadBytes - head_.size()});
    if (count == 0) break;
    head_.append(bytes, count);
  }
  return head_;
}

std::size_t RawStream::read(std::span<char> out) {
  std::size_t count = std::min(out.size(), head_.size());
  if (count > 0) {
    std::copy_n(head_.begin(), count, out.begin());
    head_.erase(0, count);
  } else {
    count = read_descriptor(out);
  }
  position_ += static_cast<std::int64_t>(count);
  return count;
}

}  // namespace snug::prepare
