#include "machine/processes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

#include "machine/system_text.h"

namespace snug::machine {
namespace {

// The words of /proc/PID/cmdline, each of which ends in a zero.
std::vector<std::string> words_of(const std::string& command_line) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < command_line.size();) {
    const std::size_t end = std::min(command_line.find('\0', at), command_line.size());
    words.push_back(command_line.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

// Up to the first blank: the argument may be a whole script.
std::string last_part(const std::string& path) {
  const std::string word = path.substr(0, path.find_first_of(" \t\n"));
  return word.substr(word.find_last_of('/') + 1);
}

std::optional<std::int64_t> number_of(const std::string& text) {
  std::int64_t number = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last) return std::nullopt;
  return number;
}

std::string folder_of(std::int64_t pid, const std::string& proc) {
  return fmt::format("{}/{}", proc, pid);
}

// The second number of statm, in pages.
std::int64_t resident_bytes_of(std::int64_t pid, const std::string& proc) {
  std::ifstream file(folder_of(pid, proc) + "/statm");
  std::int64_t size = 0, resident = 0;
  return file >> size >> resident ? resident * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace

std::string process_name(std::int64_t pid, const std::string& proc) {
  const std::vector<std::string> words = words_of(system_text(folder_of(pid, proc) + "/cmdline"));
  // A program that has written a title over its words, or none at all, as the kernel's own.
  if (words.empty() || words.front().empty() || words.front().find(' ') != std::string::npos) {
    std::string name = system_text(folder_of(pid, proc) + "/comm");
    name.resize(std::min(name.find('\n'), name.size()));
    return name.empty() ? "?" : name;
  }
  std::string name = last_part(words.front());
  auto word = words.begin() + 1;
  // Only an interpreter's options are known to stand before what it runs.
  while (name.starts_with("python") && word != words.end() && word->starts_with('-')) ++word;
  if (word == words.end() || word->empty() || word->front() == '-') return name;
  return fmt::format("{} {}", name, last_part(*word));
}

bool shares_process_numbers(const std::string& proc) {
  // The first namespace of every Linux has this number (PROC_PID_INIT_INO).
  constexpr std::string_view kFirstNamespace = "pid:[4026531836]";
  std::error_code error;
  const std::string own = std::filesystem::read_symlink(proc + "/self/ns/pid", error).string();
  return error || own == kFirstNamespace;
}

std::string name_of_drivers_process(std::int64_t pid, const std::string& proc) {
  if (!shares_process_numbers(proc)) return "? (outside this container)";
  const std::string name = process_name(pid, proc);
  return name == "?" ? "? (not visible here)" : name;
}

std::vector<HostProcess> largest_processes(std::size_t count, const std::string& proc) {
  std::vector<HostProcess> processes;
  std::error_code error;
  std::filesystem::directory_iterator entry(proc, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const auto pid = number_of(entry->path().filename().string());
    if (!pid) continue;
    const std::int64_t bytes = resident_bytes_of(*pid, proc);
    if (bytes > 0) processes.push_back({*pid, "", bytes});
  }
  std::sort(processes.begin(), processes.end(), [](const HostProcess& a, const HostProcess& b) {
    return a.resident_bytes != b.resident_bytes ? a.resident_bytes > b.resident_bytes
                                                : a.pid < b.pid;
  });
  if (processes.size() > count) processes.resize(count);
  for (HostProcess& process : processes) process.name = process_name(process.pid, proc);
  return processes;
}

std::string terminal_text(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0) == 0x80) continue;  // the rest of a character that is shown as "?" already
    shown += byte >= 0x20 && byte < 0x7F ? c : '?';
  }
  return shown;
}

}  // namespace snug::machine
