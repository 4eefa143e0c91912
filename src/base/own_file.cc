#include "base/own_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"

namespace snug {
namespace {

[[noreturn]] void refuse(const std::string& path, const char* what, const char* why) {
  throw ConfigError(fmt::format("{} {}\n{}", path, what, why));
}

}  // namespace

// O_NONBLOCK: a pipe is recognised instead of waited for; it means nothing to regular files.
int open_own_file(const std::string& path, int flags, const char* why) {
  const int descriptor =
      ::open(path.c_str(), flags | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
  if (descriptor < 0 && errno == ELOOP) refuse(path, "is a link", why);
  if (descriptor < 0 && errno == EISDIR) refuse(path, "is a folder", why);
  if (descriptor < 0 && errno == ENXIO) refuse(path, "is not a file", why);
  if (descriptor < 0) return descriptor;
  struct stat status {};
  const int unknown = ::fstat(descriptor, &status) == 0 ? 0 : errno;
  const bool is_file = unknown == 0 && S_ISREG(status.st_mode);
  if (is_file && status.st_nlink <= 1) return descriptor;
  ::close(descriptor);
  errno = unknown;
  if (unknown != 0) return -1;
  refuse(path, is_file ? "has another name (a hard link)" : "is not a file", why);
}

void require_own_folder(const std::string& path, const char* why) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || S_ISDIR(status.st_mode)) return;
  refuse(path, S_ISLNK(status.st_mode) ? "is a link" : "is not a folder", why);
}

}  // namespace snug
