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
#include "checkpoint/setting_aside.h"

namespace snug::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepPrefix = "step-";
constexpr std::string_view kTemporaryPrefix = ".tmp-";
constexpr std::string_view kTemporaryLinkPrefix = ".tmp-link-";
constexpr std::string_view kTemporaryProbePrefix = ".tmp-probe-";
constexpr std::string_view kTemporaryRemovedPrefix = ".tmp-removed-";

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
  std::error_code unknown;
  if (folder.empty() || fs::is_directory(folder, unknown)) return;
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

std::vector<Path> OutFolder::entries_of(const Path& folder) const {
  try {
    return file_system_.list(folder);
  } catch (const FileError& error) {
    if (error.error_number == ENOENT) return {};
    if (error.error_number != ENOTDIR) throw;
    throw ConfigError(
        fmt::format("{} is a file, not a folder\nname another out_dir", folder.string()));
  }
}

bool OutFolder::exists(const Path& path) const {
  return file_system_.kind(path) != fs::file_type::not_found;
}

// A person may have put a link in the place of a checkpoint.
bool OutFolder::leads_to_folder(const Path& path) const {
  const fs::file_type kind = file_system_.kind(path);
  std::error_code dangling;
  return kind == fs::file_type::directory ||
         (kind == fs::file_type::symlink && fs::is_directory(path, dangling));
}

bool OutFolder::is_folder(const Path& path) const {
  return file_system_.kind(path) == fs::file_type::directory;
}

// A real folder with nothing in it but the files of a checkpoint: safe to remove.
bool OutFolder::is_ours(const Path& folder) const {
  if (!is_folder(folder)) return false;
  return std::ranges::all_of(entries_of(folder), [&](const Path& entry) {
    return std::ranges::find(kCheckpointFiles, entry.filename()) != kCheckpointFiles.end() &&
           file_system_.kind(entry) == fs::file_type::regular;
  });
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
    if (!is_folder(path_ / name)) continue;
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
  append_steps(path_, steps);
  if (is_folder(path_ / kAsideFolder)) append_steps(path_ / kAsideFolder, steps);
  return steps;
}

void OutFolder::append_steps(const Path& folder, std::vector<StepFolder>& steps) const {
  for (const Path& entry : entries_of(folder)) {
    const std::string name = entry.filename().string();
    auto iteration = parse_step_name(name);
    if (!iteration) iteration = parse_replaced_name(name);
    if (iteration && leads_to_folder(entry)) steps.push_back({entry, *iteration});
  }
}

bool OutFolder::is_checkpoint() const {
  return file_system_.kind(path_ / kStateFile) == fs::file_type::regular;
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
  const bool replaces = exists(folder);
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
  if (exists(temporary)) file_system_.remove_file(temporary);
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
  const bool moved = !exists(path_ / name) && is_folder(path_ / kAsideFolder);
  const Path path = moved ? path_ / kAsideFolder / name : path_ / name;
  std::string target;
  const fs::file_type kind = file_system_.kind(path);
  if (kind == fs::file_type::symlink) {
    target = file_system_.read_link(path).filename().string();
  } else if (kind == fs::file_type::regular) {
    const auto file = file_system_.open_file(path);
    target.resize(static_cast<std::size_t>(std::min(file->byte_count(), kMaxNameBytes)));
    file->read_exactly(0, std::as_writable_bytes(std::span(target)));
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
  const auto or_warn = [&](const auto& action) {
    try {
      action();
    } catch (const FileError& error) {
      warnings.emplace_back(error.what());
    }
  };
  std::vector<Path> entries;
  or_warn([&] { entries = entries_of(path_); });
  for (const Path& entry : entries) or_warn([&] { clean_up_entry(entry); });
}

void OutFolder::clean_up_entry(const Path& entry) {
  const std::string name = entry.filename().string();
  if (name == kAsideFolder) {
    undo_setting_aside(file_system_, path_);
  } else if (const auto iteration = parse_replaced_name(name)) {
    const Path folder = path_ / step_name(*iteration);
    if (exists(folder)) {
      discard(entry);
    } else {
      file_system_.rename(entry, folder);
    }
  } else if (name.starts_with(kTemporaryLinkPrefix) || name.starts_with(kTemporaryProbePrefix)) {
    if (!is_folder(entry)) file_system_.remove_file(entry);
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

}  // namespace snug::checkpoint
