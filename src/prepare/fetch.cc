#include "prepare/fetch.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

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

// By curl; where that is not installed, by wget. In memory: nothing is on the disk before it is
// known to be the right text, and a server that never ends fills neither.
Download download(const RemoteFile& file) {
  const auto most = static_cast<std::size_t>(file.byte_count);
  Download curl{"curl",
                run_program({"curl", "--fail", "--silent", "--show-error", "--location",
                             "--connect-timeout", "20", "--max-time", "300", "--url", file.url},
                            most)};
  if (curl.output.is_installed) return curl;
  return {"wget", run_program({"wget", "--no-verbose", "--tries=2", "--timeout=20", "-O", "-", "--",
                               file.url},
                              most)};
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
  return are_intact(read_whole_file(path, file.byte_count), file);
}

void fetch(const RemoteFile& file, const fs::path& path) {
  const auto [program, output] = download(file);
  if (!output.is_installed) {
    fail_fetch(file, path, "neither curl nor wget is installed, to fetch the text with");
  }
  if (output.exit_code != 0 && !output.is_cut) {
    fail_fetch(
        file, path,
        fmt::format("the text could not be fetched (exit code {} of {}){}{}", output.exit_code,
                    program, output.complaint.empty() ? "" : ": ", output.complaint));
  }
  if (!are_intact(output.bytes, file)) {
    fail_fetch(file, path,
               fmt::format("what was fetched is not the text that it should be: {}",
                           std::ssize(output.bytes) == file.byte_count
                               ? "its checksum is another"
                               : fmt::format("{} bytes{} instead of {}", output.bytes.size(),
                                             output.is_cut ? " or more" : "", file.byte_count)));
  }
  data::create_output_directory(path.parent_path());
  data::write_file(path, output.bytes);
}

}  // namespace snug::prepare
