#include "machine/host_memory.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <sstream>

#include "base/bytes.h"
#include "base/error.h"
#include "machine/system_text.h"

namespace snug::machine {
namespace {

// The value of a "Name:   123 kB" line, in bytes.
std::optional<std::int64_t> kib_line(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(name + ":", 0) == 0) {
      return std::strtoll(line.c_str() + name.size() + 1, nullptr, 10) * kKiB;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> number_file(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;  // absent, or "max"
}

void lower(HostMemory& memory, std::int64_t total, std::int64_t available, const char* by) {
  memory.total_bytes = std::min(memory.total_bytes, total);
  if (available < memory.available_bytes) {
    memory.available_bytes = std::max<std::int64_t>(available, 0);
    memory.limited_by = by;
  }
}

// How a version of control groups names what is read here.
struct CgroupNames {
  const char *limit, *used, *inactive_file, *active_file;
};
constexpr CgroupNames kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes",
                                "total_inactive_file", "total_active_file"};
constexpr CgroupNames kVersion2{"memory.max", "memory.current", "inactive_file", "active_file"};

// The bytes of a group that are copies of files: the system drops them when memory is short.
std::int64_t page_cache_bytes(const std::string& group, const CgroupNames& names) {
  std::ifstream file(group + "/memory.stat");
  std::int64_t sum = 0, value = 0;
  for (std::string key; file >> key >> value;) {
    if (key == names.inactive_file || key == names.active_file) sum += value;
  }
  return sum;
}

// Every group from `path` up to the mount may set a limit. In a container the path may be one of
// the host's, which the mount does not show: then the mount itself is the container's group.
void apply_groups(HostMemory& memory, const std::string& mount, std::string path,
                  const CgroupNames& names) {
  if (path.find("/..") != std::string::npos) path.clear();  // outside of what the mount shows
  while (!path.empty() && path.back() == '/') path.pop_back();
  for (;; path.resize(path.rfind('/'))) {
    const std::string group = mount + path;
    const auto limit = number_file(group + "/" + names.limit);
    const auto used = number_file(group + "/" + names.used);
    if (limit && used) {
      const std::int64_t held = std::max<std::int64_t>(*used - page_cache_bytes(group, names), 0);
      lower(memory, *limit, *limit - held, "cgroup");
    }
    if (path.find('/') == std::string::npos) return;
  }
}

// True when `controllers`, as in "cpu,memory", has memory among them.
bool names_memory(const std::string& controllers) {
  return ("," + controllers + ",").find(",memory,") != std::string::npos;
}

}  // namespace

HostMemory host_memory() {
  const auto total = kib_line("/proc/meminfo", "MemTotal");
  const auto available = kib_line("/proc/meminfo", "MemAvailable");
  if (!total || !available) throw DeviceError("/proc/meminfo cannot be read: is /proc mounted?");
  HostMemory memory{*total, *available, "machine"};
  memory = within_cgroups(memory, "/sys/fs/cgroup", system_text("/proc/self/cgroup"));
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      limit.rlim_cur < static_cast<rlim_t>(std::numeric_limits<std::int64_t>::max())) {
    // A plan's total holds all of the process's address space.
    const auto bytes = static_cast<std::int64_t>(limit.rlim_cur);
    lower(memory, bytes, bytes, "ulimit -v");
  }
  return memory;
}

HostMemory within_cgroups(HostMemory memory, const std::string& mount,
                          const std::string& membership) {
  std::string version1, version2;  // the process's groups, as paths below their mounts
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (names_memory(controllers)) version1 = line.substr(second + 1);
    if (line.rfind("0::", 0) == 0) version2 = line.substr(second + 1);
  }
  apply_groups(memory, mount + "/memory", version1, kVersion1);
  apply_groups(memory, mount, version2, kVersion2);
  apply_groups(memory, mount + "/unified", version2, kVersion2);  // where version 1 is in use too
  return memory;
}

std::int64_t peak_resident_bytes() { return kib_line("/proc/self/status", "VmHWM").value_or(0); }
std::int64_t resident_bytes() { return kib_line("/proc/self/status", "VmRSS").value_or(0); }

std::int64_t budget_bytes(const std::string& text, const HostMemory& memory) {
  if (text == "auto") return memory.available_bytes;
  if (const auto percent = parse_percent(text); percent && *percent > 0 && *percent <= 100) {
    return static_cast<std::int64_t>(static_cast<double>(memory.total_bytes) * *percent / 100);
  }
  if (const auto bytes = parse_bytes(text)) return *bytes;
  throw ConfigError(fmt::format(
      "memory_budget = '{}' is not an amount of memory\nwrite 12GiB, 800MiB, 80% or auto", text));
}

}  // namespace snug::machine
