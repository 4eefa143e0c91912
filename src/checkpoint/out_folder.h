// The names in out_dir: step folders, links to them, and temporaries that a killed run may leave.
// Every change is one rename, so that a complete checkpoint has its name at every moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/file_system.h"

namespace snug::checkpoint {

struct StepFolder {
  Path folder;
  std::int64_t iteration = 0;
};

// Of a step folder while another one takes its place.
inline constexpr std::string_view kReplacedSuffix = ".replaced";

// Whatever cannot be read is a FileError: nothing is taken for absent because looking failed.
class OutFolder {
 public:
  // `file_system` must outlive this. Touches nothing yet.
  OutFolder(Path path, FileSystem& file_system);

  const Path& path() const noexcept { return path_; }
  // The folder itself, or the nearest one above it that is there.
  Path nearest_existing() const;

  // Makes the folder and those above it. ConfigError when a file is in the way.
  void create();
  // Writes and removes a file. ConfigError when a folder stands where a link will have to.
  void probe();

  // Every folder that carries a checkpoint's name, in no order; none when there is no out_dir.
  // One that is being replaced ("step-000250.replaced") counts too, and one that was being set
  // aside.
  std::vector<StepFolder> steps() const;

  // Whether the path is one checkpoint instead of a folder of them.
  bool is_checkpoint() const;

  // An empty folder with a name of its own. Hold a FolderLock on it for as long as it is in use.
  Path create_temporary();
  // Gives a whole and durable temporary its name, in the place of an earlier one,
  // which stays as "step-000250.replaced" until the next clean_up. Durable after sync().
  Path publish(const Path& temporary, std::int64_t iteration);

  // Makes the link `name` lead to a step folder, atomically; where there are no links, a text file
  // that holds the folder's name.
  void point(const std::string& name, const Path& step_folder);
  // The name of the step folder that `name` leads to; nothing when it leads nowhere.
  std::optional<std::string> pointed(const std::string& name) const;

  void sync() { file_system_.sync_folder(path_); }

  // Removes a checkpoint: first its name, then its content. False, and nothing done, when the
  // folder holds anything but the files of a checkpoint.
  bool discard(const Path& step_folder);
  // Removes a temporary; failures are ignored.
  void discard_temporary(const Path& temporary) noexcept;
  // Removes what killed runs left, finishes a replacement and undoes a setting aside that were
  // interrupted. What cannot be removed, or is in use by another process, stays; failures become
  // lines of `warnings`.
  void clean_up(std::vector<std::string>& warnings);

 private:
  std::vector<Path> entries_of(const Path& folder) const;
  bool exists(const Path& path) const;
  bool is_folder(const Path& path) const;
  bool leads_to_folder(const Path& path) const;
  bool is_ours(const Path& folder) const;
  void clean_up_entry(const Path& entry);
  void remove_content(const Path& folder);
  void append_steps(const Path& folder, std::vector<StepFolder>& steps) const;

  Path path_;
  FileSystem& file_system_;
};

// 250 -> "step-000250", and back; nothing when the text is not such a name.
std::string step_name(std::int64_t iteration);
std::optional<std::int64_t> parse_step_name(std::string_view name);

}  // namespace snug::checkpoint
