#include "formats/byte_source.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/error.h"

namespace snug::formats {

void refuse_lfs_pointer(const std::filesystem::path& path) {
  constexpr std::string_view kStart = "version https://git-lfs";
  const InputFile file(path);
  std::array<char, kStart.size()> start{};
  file.read_at(0, std::as_writable_bytes(std::span(start)));
  if (std::string_view(start.data(), start.size()) != kStart) return;
  throw DataError(
      fmt::format("{} is a pointer of Git LFS, not the file itself\nfetch it: git lfs pull, in its "
                  "folder, or download it again",
                  file.name()));
}

}  // namespace snug::formats
