#include "prepare/options.h"

#include <fmt/format.h>

#include <system_error>

namespace snug::prepare {

std::string settings_text(const BpeOptions& o) {
  std::string text = fmt::format(
      "documents {} field {} end_of_text {} val {} split {} format {} shard {} skip {} seed {}",
      static_cast<int>(o.documents), o.field, o.end_of_text, o.val_share, static_cast<int>(o.split),
      static_cast<int>(o.format), o.shard_tokens, o.skip_bad_lines, o.seed);
  for (const std::string& input : o.inputs) {
    std::error_code ignored;
    text +=
        fmt::format("\n{} {} {}", input, std::filesystem::file_size(input, ignored),
                    std::filesystem::last_write_time(input, ignored).time_since_epoch().count());
  }
  return text;
}

}  // namespace snug::prepare
