// The processes of this machine, by their memory and by a short name. Of the command lines no more
// is shown than the program and what it runs: the rest may hold secrets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace snug::machine {

struct HostProcess {
  std::int64_t pid = 0;
  std::string name;
  std::int64_t resident_bytes = 0;
};

// "python train.py": the program and its first argument unless that is an option, without their
// folders; options of Python are passed over. "?" when this system does not show such a process.
// `proc` is /proc.
std::string process_name(std::int64_t pid, const std::string& proc = "/proc");

// Whether numbers of processes that a driver tells mean the same here: not in a container, which
// counts its own.
bool shares_process_numbers(const std::string& proc = "/proc");

// The name of a process that the driver told: "? (outside this container)" where its number means
// nothing here, "? (not visible here)" where there is none of that number.
std::string name_of_drivers_process(std::int64_t pid, const std::string& proc = "/proc");

// The processes that have most resident, at most `count`, the largest first.
std::vector<HostProcess> largest_processes(std::size_t count, const std::string& proc = "/proc");

// What a terminal shows as it stands, a column each: everything but printable ASCII becomes "?".
std::string terminal_text(std::string_view text);

}  // namespace snug::machine
