// Starts the real program as a person would: in a folder, with arguments, with its output caught.
// A child dies with the test that started it.
#pragma once

#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/temporary_folder.h"

namespace snug {

using Words = std::vector<std::string>;

inline Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

struct ProgramSettings {
  std::string folder;                // the current folder of the program
  std::string stdout_path;           // where its output goes; empty: it is caught
  std::int64_t file_size_limit = 0;  // RLIMIT_FSIZE in bytes, a disk that gets full; 0: none
  std::string stderr_path;           // where its messages go; empty: they are caught
  std::int64_t address_space = 0;    // RLIMIT_AS in bytes; 0: none
  std::string cgroup;                // folder of a control group to start in; empty: none
  std::string disk;                  // folder that gets a disk of the program's own; empty: none
  std::int64_t disk_bytes = 0;       // its size
};

// Of a program that could not be given a disk of its own: the system does not let it.
constexpr int kNoDiskExitCode = 125;

struct ProgramResult {
  int exit_code = -1;  // -1: ended by `signal`
  int signal = 0;
  std::string out, err;
  std::int64_t peak_bytes = 0;  // ru_maxrss; not below what the test itself held when it forked
};

inline std::string read_text_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A program that runs beside the test. Its output goes to files, so that it never has to wait for
// the test to read it.
class RunningProgram {
 public:
  RunningProgram(const Words& arguments, ProgramSettings settings)
      : settings_(std::move(settings)) {
    if (settings_.stdout_path.empty()) settings_.stdout_path = capture_.path("out");
    if (settings_.stderr_path.empty()) settings_.stderr_path = capture_.path("err");
    pid_ = ::fork();
    if (pid_ == 0) become_program(arguments);
    if (pid_ < 0) throw std::runtime_error("fork failed");
  }
  ~RunningProgram() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  void send(int signal) const { ::kill(pid_, signal); }
  std::string out() const { return read_text_file(settings_.stdout_path); }

  // Waits until the program handles the signal itself, or has ended.
  void wait_until_handled(int signal) const {
    while (!ended() && !handles(signal)) pause_briefly();
  }

  // Waits until the output holds `text` or the program has ended; true when it holds it.
  bool wait_for_output(const std::string& text) const {
    for (;;) {
      const bool last_look = ended();
      if (out().find(text) != std::string::npos) return true;
      if (last_look) return false;
      pause_briefly();
    }
  }

  ProgramResult wait() {
    int status = 0;
    rusage usage{};
    while (::wait4(std::exchange(pid_, -1), &status, 0, &usage) < 0) {
      if (errno != EINTR) throw std::runtime_error("wait4 failed");
    }
    ProgramResult result;
    if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
    if (settings_.stdout_path == capture_.path("out")) result.out = out();
    result.err = read_text_file(capture_.path("err"));
    result.peak_bytes = usage.ru_maxrss * std::int64_t{1024};
    return result;
  }

 private:
  static void pause_briefly() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

  bool ended() const {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid == pid_;
  }

  bool handles(int signal) const {
    const std::string status = read_text_file("/proc/" + std::to_string(pid_) + "/status");
    const std::size_t at = status.find("SigCgt:");
    if (at == std::string::npos) return false;
    return (std::strtoull(status.c_str() + at + 7, nullptr, 16) >> (signal - 1) & 1) != 0;
  }

  static void redirect(const std::string& path, int flags, int to) {
    const int descriptor = ::open(path.c_str(), flags, 0666);
    if (descriptor < 0 || ::dup2(descriptor, to) < 0) ::_exit(127);
    ::close(descriptor);
  }

  static void limit_to(int resource, std::int64_t bytes) {
    if (bytes == 0) return;
    const rlimit limit{static_cast<rlim_t>(bytes), static_cast<rlim_t>(bytes)};
    ::setrlimit(static_cast<__rlimit_resource>(resource), &limit);
  }

  // Seen by the program alone, and gone with it.
  void mount_disk() const {
    const std::string size = "size=" + std::to_string(settings_.disk_bytes);
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", settings_.disk.c_str(), "tmpfs", 0, size.c_str()) != 0) {
      ::_exit(kNoDiskExitCode);
    }
  }

  [[noreturn]] void become_program(const Words& arguments) const {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    redirect("/dev/null", O_RDONLY, STDIN_FILENO);
    redirect(settings_.stdout_path, O_WRONLY | O_CREAT, STDOUT_FILENO);
    redirect(settings_.stderr_path, O_WRONLY | O_CREAT, STDERR_FILENO);
    if (!settings_.disk.empty()) mount_disk();
    limit_to(RLIMIT_FSIZE, settings_.file_size_limit);
    limit_to(RLIMIT_AS, settings_.address_space);
    if (!settings_.cgroup.empty()) {
      const int procs = ::open((settings_.cgroup + "/cgroup.procs").c_str(), O_WRONLY);
      if (procs < 0 || ::write(procs, "0", 1) != 1) ::_exit(126);
      ::close(procs);
    }
    exec_program(arguments, settings_.folder);
  }

 public:
  // In a forked child: the program takes its place.
  [[noreturn]] static void exec_program(const Words& arguments, const std::string& folder) {
    // Threads that spin while they wait would slow down the tests that run side by side.
    ::setenv("OMP_WAIT_POLICY", "passive", 1);
    std::vector<char*> argv{const_cast<char*>(SNUG_BINARY)};
    for (const std::string& argument : arguments) {
      argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    if (::chdir(folder.c_str()) == 0) ::execv(SNUG_BINARY, argv.data());
    ::_exit(127);
  }

 private:
  ProgramSettings settings_;
  TemporaryFolder capture_;
  pid_t pid_ = -1;
};

inline ProgramResult run_program(const Words& arguments, const ProgramSettings& settings) {
  return RunningProgram(arguments, settings).wait();
}

// Everything the program writes to a terminal of that many columns.
inline ProgramResult run_on_terminal(const Words& arguments, const std::string& folder,
                                     unsigned short columns) {
  const winsize size{24, columns, 0, 0};
  int terminal = -1;
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (pid == 0) RunningProgram::exec_program(arguments, folder);
  if (pid < 0) throw std::runtime_error("forkpty failed");
  ProgramResult result;
  char buffer[4096];
  // The read fails with EIO once the program has closed its side.
  for (ssize_t count; (count = ::read(terminal, buffer, sizeof buffer)) > 0;) {
    result.out.append(buffer, static_cast<std::size_t>(count));
  }
  ::close(terminal);
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

}  // namespace snug
