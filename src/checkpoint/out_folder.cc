#include "checkpoint/out_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <span>
#include <utility>

#include "base/input_file.h"
#include "checkpoint/checkpoint_folder.h"

namespace snug {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepPrefix = "step-";
constexpr std::string_view kReplacedSuffix = ".replaced";
constexpr std::string_view kTemporaryPrefix = ".tmp-";
constexpr std::string_view kTemporaryLinkPrefix = ".tmp-link-";
constexpr std::string_view kTemporaryProbePrefix = ".tmp-probe-";
constexpr std::string_view kTemporaryRemovedPrefix = ".tmp-removed-";

fs::file_status status_of(const Path& path) {
  std::error_code ignored;
  return fs::symlink_status(path, ignored);
}

std::vector<Path> entries_of(const Path& folder) {
  std::vector<Path> entries;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    entries.push_back(entry->path());
  }
  if (error == std::errc::not_a_directory) {
    throw ConfigError(
        fmt::format("{} is a file, not a folder\nname another out_dir", folder.string()));
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw FileError("list", folder, error.value());
  }
  return entries;
}

// A real folder with nothing in it but the files of a checkpoint: safe to remove.
bool is_ours(const Path& folder) {
  if (!fs::is_directory(status_of(folder))) return false;
  return std::ranges::all_of(entries_of(folder), [](const Path& entry) {
    return std::ranges::find(kCheckpointFiles, entry.filename()) != kCheckpointFiles.end() &&
           fs::is_regular_file(status_of(entry));
  });
}

// Of "step-000250.replaced": 250.
std::optional<std::int64_t> parse_replaced_name(std::string_view name) {
  if (!name.ends_with(kReplacedSuffix)) return std::nullopt;
  return parse_step_name(name.substr(0, name.size() - kReplacedSuffix.size()));
}

bool links_unsupported(const FileError& error) {
  return error.error_number == EPERM || error.error_number == EOPNOTSUPP ||
         error.error_number == ENOSYS;
}

void write_text(FileSystem& file_system, const Path& path, std::string_view text) {
  OutputFile file(file_system, path);
  file.write(std::as_bytes(std::span(text)));
  file.finish();
}

// Creates the folder and those above it, each made durable in the one above.
void create_durably(FileSystem& file_system, const Path& folder) {
  if (folder.empty() || fs::is_directory(fs::status(folder))) return;
  const Path parent = folder.parent_path();
  create_durably(file_system, parent);
  file_system.create_folder(folder);
  file_system.sync_folder(parent.empty() ? Path(".") : parent);
}

}  // namespace

std::string step_name(std::int64_t iteration) {
  return fmt::format("{}{:06}", kStepPrefix, iteration);
}

std::optional<std::int64_t> parse_step_name(std::string_view name) {
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kStepPrefix.size());
  std::int64_t iteration = -1;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), iteration);
  // Written back to the same text: no signs, no other padding, nothing after the digits.
  if (error != std::errc() || iteration < 0 || step_name(iteration) != name) return std::nullopt;
  return iteration;
}

OutFolder::OutFolder(Path path, FileSystem& file_system)
    : path_(std::move(path)), file_system_(file_system) {
  if (!path_.has_filename()) path_ = path_.parent_path();  // "out/" -> "out"
}

Path OutFolder::nearest_existing() const {
  std::error_code ignored;
  Path folder = path_;
  while (folder.has_relative_path() && !fs::is_directory(folder, ignored)) {
    folder = folder.parent_path();
  }
  return folder.empty() ? Path(".") : folder;
}

void OutFolder::create() {
  std::error_code ignored;
  const fs::file_status status = fs::status(path_, ignored);
  if (fs::exists(status) && !fs::is_directory(status)) {
    throw ConfigError(
        fmt::format("out_dir: {} is a file, not a folder\nname another out_dir", path_.string()));
  }
  create_durably(file_system_, path_);
}

void OutFolder::probe() {
  for (const char* name : {"latest", "best"}) {
    if (!fs::is_directory(status_of(path_ / name))) continue;
    throw ConfigError(
        fmt::format("out_dir: {} is a folder, but a link of this name is needed\n"
                    "move it away or name another out_dir",
                    (path_ / name).string()));
  }
  const Path file = path_ / fmt::format("{}{}", kTemporaryProbePrefix, ::getpid());
  write_text(file_system_, file, "probe\n");
  file_system_.remove_file(file);
}

std::vector<StepFolder> OutFolder::steps() const {
  std::vector<StepFolder> steps;
  for (const Path& entry : entries_of(path_)) {
    const std::string name = entry.filename().string();
    auto iteration = parse_step_name(name);
    if (!iteration) iteration = parse_replaced_name(name);
    std::error_code ignored;
    if (iteration && fs::is_directory(entry, ignored)) steps.push_back({entry, *iteration});
  }
  return steps;
}

Path OutFolder::create_temporary() {
  for (int attempt = 0;; ++attempt) {
    Path folder = path_ / fmt::format("{}{}-{}", kTemporaryPrefix, ::getpid(), attempt);
    if (file_system_.create_folder(folder)) return folder;
  }
}

Path OutFolder::publish(const Path& temporary, std::int64_t iteration) {
  Path folder = path_ / step_name(iteration);
  const Path replaced = path_ / (step_name(iteration) + std::string(kReplacedSuffix));
  const bool replaces = fs::exists(status_of(folder));
  if (replaces) file_system_.rename(folder, replaced);
  try {
    file_system_.rename(temporary, folder);
  } catch (const FileError&) {
    if (replaces) file_system_.rename(replaced, folder);
    throw;
  }
  return folder;
}

void OutFolder::point(const std::string& name, const Path& step_folder) {
  const Path temporary = path_ / (std::string(kTemporaryLinkPrefix) + name);
  if (fs::exists(status_of(temporary))) file_system_.remove_file(temporary);
  try {
    file_system_.create_link(step_folder.filename(), temporary);
  } catch (const FileError& error) {
    if (!links_unsupported(error)) throw;
    write_text(file_system_, temporary, step_folder.filename().string() + "\n");
  }
  file_system_.rename(temporary, path_ / name);
}

std::optional<std::string> OutFolder::pointed(const std::string& name) const {
  constexpr std::int64_t kMaxNameBytes = 64;
  const Path path = path_ / name;
  std::string target;
  if (fs::is_symlink(status_of(path))) {
    std::error_code ignored;
    target = fs::read_symlink(path, ignored).filename().string();
  } else if (fs::is_regular_file(status_of(path))) {
    const InputFile file(path);
    target.resize(static_cast<std::size_t>(std::min(file.byte_count(), kMaxNameBytes)));
    file.read_exactly(0, std::as_writable_bytes(std::span(target)));
    target.erase(std::min(target.find('\n'), target.size()));
  }
  if (!parse_step_name(target)) return std::nullopt;
  return target;
}

bool OutFolder::discard(const Path& step_folder) {
  if (!is_ours(step_folder)) return false;
  const Path hidden =
      path_ / (std::string(kTemporaryRemovedPrefix) + step_folder.filename().string());
  file_system_.rename(step_folder, hidden);
  sync();  // no loss of power may bring back the name without the content
  remove_content(hidden);
  return true;
}

void OutFolder::discard_temporary(const Path& temporary) noexcept {
  try {
    remove_content(temporary);
  } catch (...) {  // NOLINT(bugprone-empty-catch): the next clean_up tries again
  }
}

void OutFolder::clean_up(std::vector<std::string>& warnings) {
  for (const Path& entry : entries_of(path_)) {
    try {
      clean_up_entry(entry);
    } catch (const FileError& error) {
      warnings.emplace_back(error.what());
    }
  }
}

void OutFolder::clean_up_entry(const Path& entry) {
  const std::string name = entry.filename().string();
  if (const auto iteration = parse_replaced_name(name)) {
    const Path folder = path_ / step_name(*iteration);
    if (fs::exists(status_of(folder))) {
      discard(entry);
    } else {
      file_system_.rename(entry, folder);
    }
  } else if (name.starts_with(kTemporaryLinkPrefix) || name.starts_with(kTemporaryProbePrefix)) {
    if (!fs::is_directory(status_of(entry))) file_system_.remove_file(entry);
  } else if (name.starts_with(kTemporaryPrefix) && is_ours(entry)) {
    const FolderLock lock(entry);
    if (!lock.held()) return;
    sync();  // as in discard, which may have been cut short before its own
    remove_content(entry);
  }
}

void OutFolder::remove_content(const Path& folder) {
  for (const Path& entry : entries_of(folder)) file_system_.remove_file(entry);
  file_system_.remove_empty_folder(folder);
}

}  // namespace snug
