// The text of a config with its name, and how a byte of it becomes a line and an error message.
// Also how such text is read from disk, with messages for the usual mistakes in paths.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/diagnostic.h"

namespace snug::config {

// Bytes [begin, end) of a source.
struct Extent {
  std::size_t begin = 0;
  std::size_t end = 0;
};

class SourceFile {
 public:
  // `text` has '\n' for line ends and is valid UTF-8.
  SourceFile(std::string name, std::string text);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  std::string_view slice(Extent extent) const {
    return text().substr(extent.begin, extent.end - extent.begin);
  }

  // The line that holds the extent's begin; what runs over its end is cut.
  Origin origin(Extent extent) const;
  [[noreturn]] void fail(Extent extent, const Fault& fault) const;

 private:
  std::string name_;
  std::string text_;
  std::vector<std::size_t> line_begins_;
};

constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;

// Reads a config file; line ends and a byte-order mark are normalised. Throws ConfigError when it
// is missing, unreadable, too long, not a regular file or not UTF-8 text.
SourceFile read_config_file(const std::string& path);

}  // namespace snug::config
