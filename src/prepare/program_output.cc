#include "prepare/program_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <thread>

#include "base/error.h"

namespace snug::prepare {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostComplaint = 4096;

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) == 0) return;
    throw DeviceError(
        fmt::format("cannot open a pipe to another program: {}\n"
                    "close files or programs, or raise `ulimit -n`",
                    std::generic_category().message(errno)));
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reading_end() const { return ends_[0]; }
  int writing_end() const { return ends_[1]; }
  bool is_at_end() const { return ends_[0] < 0; }
  void close_writing_end() { close_end(1); }
  void close_reading_end() { close_end(0); }

  // What there is now goes behind `text`, as far as `most`, the rest of it nowhere: who writes is
  // never kept waiting.
  void read_into(std::string& text, std::size_t most) {
    std::array<char, 1 << 16> part;
    const ssize_t count = ::read(ends_[0], part.data(), part.size());
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) return close_reading_end();
    text.append(part.data(), std::min(static_cast<std::size_t>(count), most - text.size()));
  }

 private:
  void close_end(std::size_t end) {
    if (ends_[end] >= 0) ::close(ends_[end]);
    ends_[end] = -1;
  }
  std::array<int, 2> ends_ = {-1, -1};
};

// 0, or errno: ENOENT when no folder of PATH has such a program.
int start(const std::vector<std::string>& words, const Pipe& output, const Pipe& complaints,
          pid_t& process) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, output.writing_end(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, complaints.writing_end(), STDERR_FILENO);
  const int error =
      ::posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  return error == ENOTDIR ? ENOENT : error;  // the last entry of PATH is not a folder
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<decltype(left)>(left, 0, 1 << 30));
}

// Both pipes at once: a program that fills the one nobody reads would wait for ever. Returns the
// complaints, when both are at their end or the output is over a limit.
std::string listen(Pipe& output, Pipe& complaints, std::size_t most_bytes,
                   Clock::time_point deadline, ProgramOutput& result) {
  std::string text;
  while (!result.is_cut && !(output.is_at_end() && complaints.is_at_end())) {
    // poll passes over what is negative, a pipe at its end.
    std::array<pollfd, 2> ends = {pollfd{output.reading_end(), POLLIN, 0},
                                  pollfd{complaints.reading_end(), POLLIN, 0}};
    const int ready = ::poll(ends.data(), ends.size(), milliseconds_until(deadline));
    result.is_late = Clock::now() >= deadline;
    if (result.is_late) break;
    if (ready <= 0) continue;
    // One byte more than the limit shows that there are more.
    if (ends[0].revents != 0) output.read_into(result.bytes, most_bytes + 1);
    if (ends[1].revents != 0) complaints.read_into(text, kMostComplaint);
    result.is_cut = result.bytes.size() > most_bytes;
  }
  return text;
}

// By then it is ended, which it cannot refuse: it has nothing of ours to tidy up.
int end_of(pid_t process, Clock::time_point deadline, ProgramOutput& result) {
  int status = 0;
  for (;;) {
    const bool is_over = result.is_cut || result.is_late;
    if (is_over) ::kill(process, SIGKILL);
    const pid_t ended = ::waitpid(process, &status, is_over ? 0 : WNOHANG);
    if (ended == process) return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    // Where SIGCHLD is ignored, as some supervisors leave it, how it ended is not told.
    if (ended < 0 && errno == ECHILD) return 0;
    if (ended < 0 && errno != EINTR) return 128;
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    result.is_late = result.is_late || Clock::now() >= deadline;
  }
}

// The line that the program starts with its name, as curl does before it explains at length; else
// the last.
std::string complaint_in(std::string text, const std::string& program) {
  while (text.ends_with('\n')) text.pop_back();
  const std::size_t named = text.starts_with(program + ": ") ? 0 : text.find('\n' + program + ": ");
  if (named == text.npos) return text.substr(text.rfind('\n') + 1);
  const std::size_t begin = named + (text[named] == '\n' ? 1 : 0);
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

ProgramOutput run_program(const std::vector<std::string>& words, const ProgramLimits& limits) {
  const Clock::time_point deadline = Clock::now() + limits.time;
  Pipe output, complaints;
  pid_t process = 0;
  ProgramOutput result;
  result.start_error = start(words, output, complaints, process);
  if (result.start_error != 0) return result;
  output.close_writing_end();
  complaints.close_writing_end();
  result.complaint =
      complaint_in(listen(output, complaints, limits.bytes, deadline, result), words[0]);
  // Who still writes on its behalf is told, too: by the closed pipe.
  output.close_reading_end();
  complaints.close_reading_end();
  result.exit_code = end_of(process, deadline, result);
  return result;
}

}  // namespace snug::prepare
