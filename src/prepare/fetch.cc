#include "prepare/fetch.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cerrno>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/input_file.h"
#include "data/atomic_file.h"

namespace snug::prepare {
namespace {

namespace fs = std::filesystem;

// The program's exit code; -1 when there is no such program.
int run(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t process = 0;
  if (::posix_spawnp(&process, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0) {
    return -1;
  }
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

[[noreturn]] void fail_fetch(const RemoteFile& file, const fs::path& path, const std::string& why) {
  throw DataError(
      fmt::format("{}\nget {}\nby any means, put it at {}\nand give the same command again", why,
                  file.url, path.string()));
}

}  // namespace

RemoteFile tiny_shakespeare() {
  return {
      "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
      1115394, 0xDCFA653F079489F3};
}

bool is_intact(const fs::path& path, const RemoteFile& file) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error || static_cast<std::int64_t>(size) != file.byte_count) return false;
  const std::string bytes = read_whole_file(path, file.byte_count);
  return XXH64(bytes.data(), bytes.size(), 0) == file.checksum;
}

void fetch(const RemoteFile& file, const fs::path& path) {
  data::create_output_directory(path.parent_path());
  const fs::path partial = path.string() + ".partial";
  const char* program = "curl";
  int code = run({program, "--fail", "--silent", "--location", "--connect-timeout", "20",
                  "--max-time", "300", "--output", partial.string(), file.url});
  if (code == -1) {
    program = "wget";
    code = run({program, "--quiet", "--timeout=20", "-O", partial.string(), file.url});
  }
  std::error_code ignored;
  if (code != 0) {
    fs::remove(partial, ignored);
    fail_fetch(file, path,
               code == -1 ? "neither curl nor wget is installed, to fetch the text with"
                          : fmt::format("the text could not be fetched (exit code {} of {}): is "
                                        "there a network?",
                                        code, program));
  }
  if (!is_intact(partial, file)) {
    fs::remove(partial, ignored);
    fail_fetch(file, path, "what was fetched is not the text that it should be (checksum)");
  }
  fs::rename(partial, path);
}

}  // namespace snug::prepare
