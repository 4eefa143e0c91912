// How many cores this process can count on: a container may have the use of two on a machine of 64.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace snug::machine {

// `core_count`, lowered to the processor time that the control groups of this process allow
// (`docker run --cpus=2`), rounded up: at least 1.
int within_cpu_quota(int core_count);

// The same for other groups: `mount` is /sys/fs/cgroup, `membership` the text of /proc/self/cgroup.
int within_cpu_quota(int core_count, const std::string& mount, const std::string& membership);

// How busy others keep the cores, from its construction until it is asked.
class LoadMeter {
 public:
  LoadMeter();
  // Cores' worth of time that other processes took. Those that give way (nice) do not count.
  // Nothing when less than a tenth of a second has passed, or when /proc does not tell.
  std::optional<double> cores_of_others() const;

 private:
  std::optional<double> busy_seconds_;  // of all processes since the machine started
  double own_seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Seconds that all cores together were busy: the text of /proc/stat, in ticks of a second.
std::optional<double> busy_seconds(const std::string& stat, double ticks_per_second);

}  // namespace snug::machine
