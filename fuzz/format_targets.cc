// Checkpoints of other programs: a whole file, the pickle inside a ckpt.pt, a config.json. A file
// lies in memory (memfd) under a name of /proc, so that the readers open it as they open any.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "formats/format.h"
#include "formats/huggingface/model_config.h"
#include "fuzz_targets.h"
#include "pickle/reader.h"

namespace snug {
namespace {

class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written <= 0) throw std::runtime_error("no memory file");
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

 private:
  int descriptor_;
};

// Walks all of it: what is returned may be recursed into.
std::size_t walk(const pickle::PickleValue& value) {
  if (value.kind() == pickle::PickleKind::kString || value.kind() == pickle::PickleKind::kGlobal) {
    return value.text().size();
  }
  if (value.kind() < pickle::PickleKind::kList) return 1;
  std::size_t total = 1;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const bool is_dict = value.kind() == pickle::PickleKind::kDict;
    total += is_dict ? walk(value.key(i)) + walk(value.value(i)) : walk(value.item(i));
  }
  return total;
}

}  // namespace

void fuzz_checkpoint(std::string_view bytes) {
  const MemoryFile file(bytes);
  try {
    const formats::Source source = formats::open_checkpoint(file.path());
    formats::check_complete(source);
    for (const auto& [name, tensor] : source.tensors) {
      // A file holds each element that a tensor claims, if not more than once.
      require(tensor.element_count() <= static_cast<std::int64_t>(bytes.size()), "extent");
      formats::read_whole(source, name);
    }
  } catch (const DataError&) {
  } catch (const ConfigError&) {
  }
}

void fuzz_torch_pickle(std::string_view bytes) {
  try {
    const pickle::PickleDocument document =
        pickle::parse_pickle(bytes, "fuzz", pickle::PickleDialect::kTorch);
    walk(document.root());
  } catch (const DataError&) {
  }
}

void fuzz_model_config(std::string_view bytes) {
  try {
    const formats::huggingface::ModelConfig config =
        formats::huggingface::parse_model_config(bytes, "config.json");
    const std::string again = formats::huggingface::make_model_config(config.sizes, -1);
    require(formats::huggingface::parse_model_config(again, "again").sizes == config.sizes,
            "config comes back");
  } catch (const DataError&) {
  }
}

}  // namespace snug
