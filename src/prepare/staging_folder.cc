#include "prepare/staging_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "base/error.h"
#include "base/own_file.h"
#include "data/atomic_file.h"
#include "data/dataset_publication.h"
#include "prepare/journal.h"

namespace snug::prepare {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockName = "lock";
constexpr const char* kReserveName = "reserve";
constexpr std::size_t kReserveBytes = 1 << 16;

void sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);  // not every file system can
  ::close(descriptor);
}

}  // namespace

StagingFolder::StagingFolder(const fs::path& directory)
    : directory_(directory),
      path_(directory / ".prepare"),
      made_directory_(!fs::exists(directory)) {
  require_own_folder(path_.string(), data::kWhyOwn);  // what lies in it is removed
  data::create_output_directory(path_);
  const std::string lock = (path_ / kLockName).string();
  lock_ = open_own_file(lock, O_RDWR, data::kWhyOwn);
  if (lock_ < 0) {
    throw DeviceError(fmt::format("{} cannot be written: {}", lock, std::strerror(errno)));
  }
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock_);
    throw DeviceError(fmt::format("another process is preparing data in {}", directory.string()));
  }
}

StagingFolder::~StagingFolder() {
  std::error_code ignored;
  if (!has_journal(path_)) {
    fs::remove_all(path_, ignored);
    if (made_directory_) fs::remove(directory_, ignored);  // only where it is empty
  }
  ::close(lock_);
}

void StagingFolder::clear() {
  for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
    std::error_code ignored;
    if (entry.path().filename() != kLockName) fs::remove_all(entry.path(), ignored);
  }
}

void StagingFolder::reserve_room() const {
  free_room();  // an earlier one, or what someone put there
  std::ofstream(path_ / kReserveName, std::ios::binary) << std::string(kReserveBytes, '\0');
}

void StagingFolder::free_room() const noexcept {
  std::error_code ignored;
  fs::remove(path_ / kReserveName, ignored);
}

void StagingFolder::publish(const std::vector<std::string>& names) {
  remove_journal(path_);  // from here on there is nothing to go on from
  sync_folder(path_);
  data::publish_under_mark(directory_, [&] {
    for (const std::string& name : names) {
      std::error_code error;
      fs::rename(path_ / name, directory_ / name, error);
      if (!error) continue;
      throw DeviceError(fmt::format("{} cannot take its place: {}", (directory_ / name).string(),
                                    error.message()));
    }
  });
}

}  // namespace snug::prepare
