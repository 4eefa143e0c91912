#include "prepare/program_output.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace snug::prepare {
namespace {

constexpr std::size_t kMostComplaint = 4096;

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) ends_ = {-1, -1};
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int writing_end() const { return ends_[1]; }
  void close_writing_end() { close_end(1); }
  void close_reading_end() { close_end(0); }

  // Up to the end of what is written, or one byte more than `most`.
  std::string read(std::size_t most) const {
    std::string text;
    std::array<char, 1 << 16> part;
    while (text.size() <= most) {
      const ssize_t count = ::read(ends_[0], part.data(), part.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      text.append(part.data(), static_cast<std::size_t>(count));
    }
    return text.substr(0, most + 1);
  }

 private:
  void close_end(std::size_t end) {
    if (ends_[end] >= 0) ::close(ends_[end]);
    ends_[end] = -1;
  }
  std::array<int, 2> ends_;
};

// False when there is no such program.
bool start(const std::vector<std::string>& words, const Pipe& output, const Pipe& complaints,
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
  return error == 0;
}

int wait_for(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
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

ProgramOutput run_program(const std::vector<std::string>& words, std::size_t most_bytes) {
  Pipe output, complaints;
  pid_t process = 0;
  ProgramOutput result;
  result.is_installed = start(words, output, complaints, process);
  if (!result.is_installed) return result;
  output.close_writing_end();
  complaints.close_writing_end();
  result.bytes = output.read(most_bytes);
  result.is_cut = result.bytes.size() > most_bytes;
  // Who still writes on its behalf is told, too: by the closed pipe.
  output.close_reading_end();
  if (result.is_cut) ::kill(process, SIGTERM);
  result.complaint = complaint_in(complaints.read(kMostComplaint), words[0]);
  result.exit_code = wait_for(process);
  return result;
}

}  // namespace snug::prepare
