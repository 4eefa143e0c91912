// Files that this program writes beside others, in folders that may have come from anyone: an
// unpacked archive can hold a link to a file of the user's, or a pipe that is waited for.
#pragma once

#include <string>

namespace snug {

// Opens `path` for writing (`flags`: O_WRONLY or O_RDWR, O_APPEND), and makes it where there is
// none. Throws ConfigError, with `why` as its further lines, for a link, a folder, a pipe, a device
// and a file that has another name, too. -1 with errno set when it cannot be opened otherwise.
int open_own_file(const std::string& path, int flags, const char* why);

// The same for the folder of such files: throws ConfigError when a link or another file stands
// there; where there is nothing it makes nothing.
void require_own_folder(const std::string& path, const char* why);

}  // namespace snug
