#include "config/source_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "config/fields.h"

namespace snug::config {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownBytes = 90;    // of a line, so that an error fits 100 columns
constexpr std::size_t kContextBytes = 40;  // kept before the value in a line that is cut
constexpr std::string_view kCut = "... ";

std::size_t character_begin(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

std::string normalised(std::string text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r') {
      if (i + 1 == text.size() || text[i + 1] != '\n') result += '\n';
    } else {
      result += text[i];
    }
  }
  return result;
}

[[noreturn]] void fail_missing(const std::string& path) {
  std::error_code ignored;
  if (find_field(path)) {
    throw ConfigError(
        fmt::format("{} is a setting, not a config file\nwrite --{}=VALUE", path, path));
  }
  const std::string advice =
      fs::is_regular_file(path + ".py", ignored)
          ? fmt::format("did you mean {}.py?", path)
          : "check the path; a setting is written --key=value, such as --batch_size=12";
  throw ConfigError(
      fmt::format("{}: there is no such config file\nlooked for {} from the folder {}\n{}", path,
                  path, fs::current_path(ignored).string(), advice));
}

void check_status(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) fail_missing(path);
  if (error) {
    throw ConfigError(fmt::format("{}: cannot be read: {}", path, error.message()));
  }
  if (fs::is_directory(status)) {
    throw ConfigError(
        fmt::format("{}: is a folder, not a config file\nname a file in it, such as {}", path,
                    (fs::path(path) / "train.py").string()));
  }
  if (!fs::is_regular_file(status)) {
    throw ConfigError(
        fmt::format("{}: is not an ordinary file\nwrite the settings to a file "
                    "and name that",
                    path));
  }
}

}  // namespace

SourceFile::SourceFile(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)), line_begins_{0} {
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_begins_.push_back(i + 1);
  }
}

Origin SourceFile::origin(Extent extent) const {
  const auto next = std::upper_bound(line_begins_.begin(), line_begins_.end(), extent.begin);
  const std::size_t line_begin = *(next - 1);
  const std::size_t line_end = next == line_begins_.end() ? text_.size() : *next - 1;
  std::size_t begin = extent.begin - line_begin;
  std::size_t end = std::min(extent.end, line_end) - line_begin;
  std::string_view line = text().substr(line_begin, line_end - line_begin);
  std::string shown;
  if (line.size() > kShownBytes && begin > kContextBytes) {
    const std::size_t from = character_begin(line, begin - kContextBytes);
    shown = kCut;
    line.remove_prefix(from);
    begin = begin - from + kCut.size();
    end = end - from + kCut.size();
  }
  shown += line.substr(0, character_begin(line, std::min(line.size(), kShownBytes)));
  end = std::min(end, shown.size());
  return {Origin::Kind::kFile,
          name_,
          static_cast<int>(next - line_begins_.begin()),
          shown,
          static_cast<int>(begin),
          std::max(1, static_cast<int>(end) - static_cast<int>(begin))};
}

void SourceFile::fail(Extent extent, const Fault& fault) const { throw_at(origin(extent), fault); }

SourceFile read_config_file(const std::string& path) {
  check_status(path);
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    throw ConfigError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  std::string text(kMaxConfigBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) throw ConfigError(fmt::format("{}: cannot be read to its end", path));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kMaxConfigBytes) {
    throw ConfigError(
        fmt::format("{}: is over {}, too long for a config\nis it data or a "
                    "checkpoint? a config is a short Python file",
                    path, format_bytes(static_cast<std::int64_t>(kMaxConfigBytes))));
  }
  if (text.find('\0') != std::string::npos || !is_utf8(text)) {
    throw ConfigError(
        fmt::format("{}: is not text\na config is a short Python file in UTF-8", path));
  }
  return {path, normalised(std::move(text))};
}

}  // namespace snug::config
