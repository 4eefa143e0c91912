#include "prepare/kept_inputs.h"

#include <array>
#include <string_view>
#include <system_error>

#include "data/atomic_file.h"
#include "prepare/raw_stream.h"

namespace snug::prepare {
namespace {

namespace fs = std::filesystem;

}  // namespace

bool is_read_once(const std::string& input) {
  std::error_code ignored;
  return input == kStandardInput || !fs::is_regular_file(input, ignored);
}

KeptInputs::~KeptInputs() {
  std::error_code ignored;
  for (const auto& [input, path] : files_) fs::remove(path, ignored);
}

void KeptInputs::keep(const std::vector<std::string>& inputs, const fs::path& folder,
                      const Taken& taken) {
  std::int64_t byte_count = 0;
  for (const std::string& input : inputs) {
    if (!is_read_once(input) || files_.contains(input)) continue;
    RawStream stream(input);  // first: a folder is refused
    const fs::path path = folder / ("input-" + std::to_string(files_.size()));
    data::AtomicFile file(path);
    std::array<char, 1 << 16> buffer;
    while (const std::size_t count = stream.read(buffer)) {
      file.append(std::string_view(buffer.data(), count));
      byte_count += static_cast<std::int64_t>(count);
      taken(byte_count);
    }
    file.stage();
    file.publish();
    files_[input] = path.string();
  }
}

std::int64_t KeptInputs::byte_count_of(const std::vector<std::string>& inputs) const {
  std::int64_t total = 0;
  for (const std::string& input : inputs) {
    std::error_code error;
    const auto size = fs::file_size(path_of(input), error);
    if (error) return -1;
    total += static_cast<std::int64_t>(size);
  }
  return total;
}

std::unique_ptr<ByteStream> KeptInputs::open(const std::string& input) const {
  return unpacked(std::make_unique<RawStream>(path_of(input), input));
}

std::string KeptInputs::path_of(const std::string& input) const {
  const auto kept = files_.find(input);
  return kept == files_.end() ? input : kept->second;
}

}  // namespace snug::prepare
