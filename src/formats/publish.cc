#include "formats/publish.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"

namespace snug::formats {
namespace {

namespace fs = std::filesystem;

void sync_file(const checkpoint::Path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw checkpoint::FileError("open", path, errno);
  const bool synced = ::fsync(descriptor) == 0 || errno == EINVAL;
  const int error = errno;
  ::close(descriptor);
  if (!synced) throw checkpoint::FileError("sync", path, error);
}

checkpoint::Path parent_of(const checkpoint::Path& path) {
  const checkpoint::Path parent = path.parent_path();
  return parent.empty() ? checkpoint::Path(".") : parent;
}

// Without a slash at the end, which would make the partial name one inside the folder.
checkpoint::Path without_slash(checkpoint::Path path) {
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

Partial::Partial(checkpoint::Path to) : to_(without_slash(std::move(to))), partial_(to_) {
  partial_ += ".partial";
  std::error_code error;
  if (fs::exists(fs::symlink_status(to_, error))) {
    throw ConfigError(
        fmt::format("{} exists already: nothing is overwritten\nname another, or remove it first",
                    to_.string()));
  }
  // As for ckpt.pt in a new out_dir; further up, a missing folder is rather a wrong name.
  made_parent_ = fs::create_directory(parent_of(to_), error);
  if (!fs::is_directory(parent_of(to_), error)) {
    throw ConfigError(fmt::format("{} cannot be written: there is no folder {}", to_.string(),
                                  parent_of(to_).string()));
  }
  fs::remove_all(partial_, error);  // what a killed run left
}

Partial::~Partial() {
  std::error_code ignored;
  if (published_) return;
  fs::remove_all(partial_, ignored);
  if (made_parent_) fs::remove(parent_of(to_), ignored);
}

void Partial::publish() {
  checkpoint::FileSystem file_system;
  if (fs::is_directory(partial_)) {
    for (const auto& entry : fs::recursive_directory_iterator(partial_)) {
      if (entry.is_regular_file() && !entry.is_symlink()) sync_file(entry.path());
    }
    file_system.sync_folder(partial_);
  } else {
    sync_file(partial_);
  }
  file_system.rename(partial_, to_);
  published_ = true;
  file_system.sync_folder(parent_of(to_));
}

PartialFolder::PartialFolder(checkpoint::Path to) : Partial(std::move(to)) {
  checkpoint::FileSystem().create_folder(path());
}

void write_text(const checkpoint::Path& path, std::string_view text) {
  checkpoint::FileSystem file_system;
  checkpoint::OutputFile file(file_system, path);
  file.write(std::as_bytes(std::span(text)));
  file.finish();
}

}  // namespace snug::formats
