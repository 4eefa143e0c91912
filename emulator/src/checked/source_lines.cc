#include "checked/source_lines.h"

#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <map>

namespace emulator {
namespace {

std::uintptr_t program_start() {
  static const std::uintptr_t start = [] {
    std::uintptr_t found = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* out) {
          *static_cast<std::uintptr_t*>(out) = info->dlpi_addr;
          return 1;
        },
        &found);
    return found;
  }();
  return start;
}

std::string program_path() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  return length < 0 ? "" : std::string(path, static_cast<std::size_t>(length));
}

std::string ask_addr2line(std::uint32_t place) {
  char command[4400];
  // The instruction before the one that is returned to.
  std::snprintf(command, sizeof command, "addr2line -s -i -e '%s' 0x%x 2>/dev/null",
                program_path().c_str(), place - 1);
  FILE* pipe = popen(command, "r");
  if (!pipe) return "?";
  std::string text;
  char line[512];
  while (std::fgets(line, sizeof line, pipe)) {
    std::string where(line);
    where.erase(where.find_last_not_of("\n") + 1);
    if (const auto extra = where.find(" (discriminator"); extra != std::string::npos) {
      where.erase(extra);
    }
    text += (text.empty() ? "" : " from ") + where;
  }
  pclose(pipe);
  return text.empty() ? "?" : text;
}

}  // namespace

std::uint32_t code_place(const void* program_counter) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(program_counter) -
                                    program_start());
}

std::string source_line(std::uint32_t place) {
  static std::map<std::uint32_t, std::string> known;
  auto found = known.find(place);
  if (found == known.end()) found = known.emplace(place, ask_addr2line(place)).first;
  return found->second;
}

}  // namespace emulator
