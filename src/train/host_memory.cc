#include "train/host_memory.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "base/bytes.h"
#include "base/error.h"

namespace snug {
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

// This process's own control group, as a path below the mount of cgroup v2.
std::string cgroup_path() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("0::", 0) == 0) return "/sys/fs/cgroup" + line.substr(3);
  }
  return "/sys/fs/cgroup";
}

void lower(HostMemory& memory, std::int64_t total, std::int64_t available, const char* by) {
  memory.total_bytes = std::min(memory.total_bytes, total);
  if (available < memory.available_bytes) {
    memory.available_bytes = std::max<std::int64_t>(available, 0);
    memory.limited_by = by;
  }
}

void apply_cgroups(HostMemory& memory) {
  // Version 2: every group up to the root may set a limit.
  for (std::string path = cgroup_path(); path.size() >= std::string("/sys/fs/cgroup").size();
       path.resize(path.rfind('/'))) {
    const auto limit = number_file(path + "/memory.max");
    const auto used = number_file(path + "/memory.current");
    if (limit && used) lower(memory, *limit, *limit - *used, "cgroup");
  }
  const std::string v1 = "/sys/fs/cgroup/memory/memory.";
  const auto limit = number_file(v1 + "limit_in_bytes"), used = number_file(v1 + "usage_in_bytes");
  if (limit && used) lower(memory, *limit, *limit - *used, "cgroup");
}

}  // namespace

HostMemory host_memory() {
  const auto total = kib_line("/proc/meminfo", "MemTotal");
  const auto available = kib_line("/proc/meminfo", "MemAvailable");
  if (!total || !available) throw DeviceError("/proc/meminfo cannot be read: is /proc mounted?");
  HostMemory memory{*total, *available, "machine"};
  apply_cgroups(memory);
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      limit.rlim_cur < static_cast<rlim_t>(std::numeric_limits<std::int64_t>::max())) {
    const auto bytes = static_cast<std::int64_t>(limit.rlim_cur);
    lower(memory, bytes, bytes, "ulimit -v");
  }
  return memory;
}

std::int64_t peak_resident_bytes() { return kib_line("/proc/self/status", "VmHWM").value_or(0); }
std::int64_t resident_bytes() { return kib_line("/proc/self/status", "VmRSS").value_or(0); }

std::int64_t budget_bytes(const std::string& text, const HostMemory& memory) {
  if (text == "auto") return memory.available_bytes;
  if (!text.empty() && text.back() == '%') {
    char* end = nullptr;
    const double percent = std::strtod(text.c_str(), &end);
    if (end == text.c_str() + text.size() - 1 && percent > 0 && percent <= 100) {
      return static_cast<std::int64_t>(static_cast<double>(memory.total_bytes) * percent / 100);
    }
  } else if (const auto bytes = parse_bytes(text)) {
    return *bytes;
  }
  throw ConfigError(fmt::format(
      "memory_budget = '{}' is not an amount of memory\nwrite 12GiB, 800MiB, 80% or auto", text));
}

}  // namespace snug
