#include "prepare/fetch.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cerrno>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/input_file.h"
#include "data/atomic_file.h"
#include "prepare/program_output.h"

namespace snug::prepare {
namespace {

namespace fs = std::filesystem;

bool are_intact(std::string_view bytes, const RemoteFile& file) {
  return std::ssize(bytes) == file.byte_count &&
         XXH64(bytes.data(), bytes.size(), 0) == file.checksum;
}

struct Download {
  std::string program;
  ProgramOutput output;
};

// By curl; where that cannot be started, by wget. In memory: nothing is on the disk before it is
// known to be the right text, and a server that never ends fills neither.
Download download(const RemoteFile& file, std::chrono::milliseconds most_time) {
  const ProgramLimits limits = {static_cast<std::size_t>(file.byte_count), most_time};
  Download curl{"curl", run_program({"curl", "--fail", "--silent", "--show-error", "--location",
                                     "--connect-timeout", "20", "--url", file.url},
                                    limits)};
  if (curl.output.start_error == 0) return curl;
  Download wget{"wget", run_program({"wget", "--no-verbose", "--tries=2", "--timeout=20", "-O", "-",
                                     "--", file.url},
                                    limits)};
  // Of two that cannot be started the one that is there says more.
  return wget.output.start_error == ENOENT ? curl : wget;
}

[[noreturn]] void fail_fetch(const RemoteFile& file, const fs::path& path, const std::string& why) {
  throw DataError(
      fmt::format("{}\nget {}\nby any means, put it at {}\nand give the same command again", why,
                  file.url, path.string()));
}

void require_done(const RemoteFile& file, const fs::path& path, const Download& from,
                  std::chrono::milliseconds most_time) {
  const auto& [program, output] = from;
  if (output.start_error == ENOENT) {
    fail_fetch(file, path, "neither curl nor wget is installed, to fetch the text with");
  }
  if (output.start_error != 0) {
    fail_fetch(file, path,
               fmt::format("{} could not be started: {}", program,
                           std::generic_category().message(output.start_error)));
  }
  if (output.is_late) {
    const double seconds = std::chrono::duration<double>(most_time).count();
    fail_fetch(file, path,
               fmt::format("the text could not be fetched: {} was not done after {} seconds",
                           program, seconds));
  }
  if (output.exit_code != 0 && !output.is_cut) {
    fail_fetch(
        file, path,
        fmt::format("the text could not be fetched (exit code {} of {}){}{}", output.exit_code,
                    program, output.complaint.empty() ? "" : ": ", output.complaint));
  }
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
  return are_intact(read_whole_file(path, file.byte_count), file);
}

void fetch(const RemoteFile& file, const fs::path& path, std::chrono::milliseconds most_time) {
  const Download from = download(file, most_time);
  require_done(file, path, from, most_time);
  const ProgramOutput& output = from.output;
  if (!are_intact(output.bytes, file)) {
    fail_fetch(file, path,
               fmt::format("what was fetched is not the text that it should be: {}",
                           std::ssize(output.bytes) == file.byte_count
                               ? "its checksum is another"
                               : fmt::format("{} bytes{} instead of {}", output.bytes.size(),
                                             output.is_cut ? " or more" : "", file.byte_count)));
  }
  data::create_output_directory(path.parent_path());
  data::AtomicFile text(path);  // replaces a link that leads nowhere, and does not follow it
  text.append(output.bytes);
  text.stage();
  text.publish();
}

}  // namespace snug::prepare
