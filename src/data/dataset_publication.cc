#include "data/dataset_publication.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace snug::data {
namespace {

constexpr const char* kMarkFile = ".snug-publishing";

[[noreturn]] void fail(const std::filesystem::path& path, const char* what) {
  throw DeviceError(fmt::format("cannot {} {}: {}\ncheck the folder and its permissions", what,
                                path.string(), std::strerror(errno)));
}

// The names in the folder are on the disk; not every file system can tell.
void sync_folder(const std::filesystem::path& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

void publish_together(const std::filesystem::path& directory, std::span<AtomicFile* const> files) {
  for (AtomicFile* file : files) file->stage();
  publish_under_mark(directory, [&] {
    for (AtomicFile* file : files) file->publish();  // each syncs the folder
  });
}

void publish_under_mark(const std::filesystem::path& directory,
                        const std::function<void()>& rename_all) {
  const std::filesystem::path mark = directory / kMarkFile;
  const int descriptor =
      ::open(mark.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
  if (descriptor < 0) fail(mark, "create");
  ::close(descriptor);
  sync_folder(directory);
  rename_all();
  sync_folder(directory);
  if (::unlink(mark.c_str()) != 0) fail(mark, "remove");
  sync_folder(directory);
}

void require_whole_dataset(const std::filesystem::path& directory) {
  struct stat status {};
  if (::lstat((directory / kMarkFile).c_str(), &status) != 0) return;
  throw DataError(
      fmt::format("the data set in {0} is half replaced: its files may be of two different texts\n"
                  "`snug prepare` was stopped while it put them in place\n"
                  "run the same `snug prepare` again, which removes {0}/{1}",
                  directory.string(), kMarkFile));
}

}  // namespace snug::data
