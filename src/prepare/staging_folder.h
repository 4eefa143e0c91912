// Where a data set is made before it takes its place: a folder inside its own, so that publishing
// is renaming. One process at a time; an unfinished one stays for the next run to go on with.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace snug::prepare {

class StagingFolder {
 public:
  // Makes `directory` and `directory`/.prepare. Throws DeviceError when it cannot or when another
  // process is at work there.
  explicit StagingFolder(const std::filesystem::path& directory);
  // Removes what nothing can go on from, and `directory` if it was made for that.
  ~StagingFolder();
  StagingFolder(const StagingFolder&) = delete;
  StagingFolder& operator=(const StagingFolder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

  // Removes what an earlier run left.
  void clear();

  // Takes a little room, as far as there is some, and gives it back: on a full disk, for a journal.
  void reserve_room() const;
  void free_room() const noexcept;

  // Puts these files, complete and on the disk, into their place, replacing what was there, and
  // removes the folder. A kill while it does so leaves a mark that the data set is not whole, and
  // the next run starts over. Throws DeviceError.
  void publish(const std::vector<std::string>& names);

 private:
  std::filesystem::path directory_, path_;
  bool made_directory_;
  int lock_ = -1;
};

}  // namespace snug::prepare
