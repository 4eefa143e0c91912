#include "machine/processors.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "machine/system_text.h"

namespace snug::machine {
namespace {

// Cores' worth of time per period. Version 2 has "200000 100000" or "max 100000" in one file,
// version 1 a number in each of two, where -1 is no limit.
std::optional<double> quota_of(const std::string& group) {
  double quota = 0, period = 0;
  std::ifstream version2(group + "/cpu.max");
  std::ifstream version1(group + "/cpu.cfs_quota_us"), its_period(group + "/cpu.cfs_period_us");
  const bool known = (version2 >> quota >> period) || (version1 >> quota && its_period >> period);
  if (!known || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

// Every group from `path` up to the mount may set a limit.
double apply_groups(double cores, const std::string& mount, std::string path) {
  if (path.find("/..") != std::string::npos) path.clear();  // outside of what the mount shows
  while (!path.empty() && path.back() == '/') path.pop_back();
  for (;; path.resize(path.rfind('/'))) {
    cores = std::min(cores, quota_of(mount + path).value_or(cores));
    if (path.find('/') == std::string::npos) return cores;
  }
}

bool names_cpu(const std::string& controllers) {
  return ("," + controllers + ",").find(",cpu,") != std::string::npos;
}

std::optional<double> busy_seconds_now() {
  return busy_seconds(system_text("/proc/stat"), static_cast<double>(::sysconf(_SC_CLK_TCK)));
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double own_seconds_now() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

int within_cpu_quota(int core_count, const std::string& mount, const std::string& membership) {
  std::string version1, version2;
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    if (names_cpu(line.substr(first + 1, second - first - 1))) version1 = line.substr(second + 1);
    if (line.starts_with("0::")) version2 = line.substr(second + 1);
  }
  double cores = core_count;
  cores = apply_groups(cores, mount + "/cpu", version1);
  cores = apply_groups(cores, mount, version2);
  cores = apply_groups(cores, mount + "/unified", version2);  // where version 1 is in use too
  return std::clamp(static_cast<int>(std::ceil(cores)), 1, std::max(core_count, 1));
}

int within_cpu_quota(int core_count) {
  return within_cpu_quota(core_count, "/sys/fs/cgroup", system_text("/proc/self/cgroup"));
}

std::optional<double> busy_seconds(const std::string& stat, double ticks_per_second) {
  std::istringstream text(stat);
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft = 0,
         stolen = 0;
  text >> name >> user >> nice >> system >> idle >> waiting >> interrupts >> soft >> stolen;
  if (!text || name != "cpu" || ticks_per_second <= 0) return std::nullopt;
  return (user + system + interrupts + soft + stolen) / ticks_per_second;
}

LoadMeter::LoadMeter() : busy_seconds_(busy_seconds_now()), own_seconds_(own_seconds_now()) {}

std::optional<double> LoadMeter::cores_of_others() const {
  constexpr double kShortest = 0.1;  // /proc counts in hundredths of a second
  const double elapsed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const std::optional<double> busy = busy_seconds_now();
  if (elapsed < kShortest || !busy || !busy_seconds_) return std::nullopt;
  const double own = own_seconds_now() - own_seconds_;
  return std::max((*busy - *busy_seconds_ - own) / elapsed, 0.0);
}

}  // namespace snug::machine
