// What this machine, its containers' limits and this process have and hold of memory, now.
#pragma once

#include <cstdint>
#include <string>

namespace snug::machine {

struct HostMemory {
  std::int64_t total_bytes = 0;      // the machine's, or its control group's limit if lower
  std::int64_t available_bytes = 0;  // what a new process could take now
  std::string limited_by;            // "machine", "cgroup" or "ulimit -v"
};

// Throws DeviceError when /proc cannot be read.
HostMemory host_memory();

// `memory`, lowered to what the control groups of a process leave it: the limits of its group and
// of all above it, in version 1, version 2 or both. Page cache does not count as used. `mount` is
// /sys/fs/cgroup, `membership` the text of /proc/self/cgroup.
HostMemory within_cgroups(HostMemory memory, const std::string& mount,
                          const std::string& membership);

// Most bytes this process has had resident so far (VmHWM), and has now (VmRSS).
std::int64_t peak_resident_bytes();
std::int64_t resident_bytes();

// A budget in bytes: "12GiB", "80%" (of total), "auto" (what is available). Throws ConfigError.
std::int64_t budget_bytes(const std::string& text, const HostMemory& memory);

}  // namespace snug::machine
