#include "checkpoint/setting_aside.h"

#include <fmt/format.h>

namespace snug::checkpoint {
namespace {

bool exists(FileSystem& file_system, const Path& path) {
  return file_system.kind(path) != std::filesystem::file_type::not_found;
}

}  // namespace

Path set_aside(FileSystem& file_system, const Path& out, const std::vector<Path>& names) {
  undo_setting_aside(file_system, out);
  const Path moving = out / kAsideFolder;
  file_system.create_folder(moving);
  for (const Path& name : names) {
    if (exists(file_system, out / name)) file_system.rename(out / name, moving / name);
  }
  file_system.sync_folder(moving);
  int number = 1;
  while (exists(file_system, out / fmt::format("earlier-{}", number))) ++number;
  Path aside = out / fmt::format("earlier-{}", number);
  file_system.rename(moving, aside);
  file_system.sync_folder(out);
  return aside;
}

void undo_setting_aside(FileSystem& file_system, const Path& out) {
  const Path moving = out / kAsideFolder;
  if (file_system.kind(moving) != std::filesystem::file_type::directory) return;
  bool emptied = true;
  for (const Path& entry : file_system.list(moving)) {
    const Path home = out / entry.filename();
    if (exists(file_system, home)) {
      emptied = false;
    } else {
      file_system.rename(entry, home);
    }
  }
  file_system.sync_folder(out);  // the names are back before the folder that had them goes
  if (emptied) file_system.remove_empty_folder(moving);
}

}  // namespace snug::checkpoint
