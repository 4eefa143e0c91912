#include "formats/torch/old_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "checkpoint/tensor_label.h"

namespace snug::formats::torch {
namespace {

using pickle::PickleDialect;
using pickle::PickleKind;
using pickle::PickleValue;

// The pickled number 0x1950a86a20f9469cfc6c, which has more than 64 bits, without what comes before
// it in the protocols 2 and 3 and, with the length of a frame, in 4 and 5.
constexpr std::string_view kMagic("\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.", 13);
constexpr std::size_t kProtocolBytes = 2, kFrameBytes = 9;
constexpr std::int64_t kVersion = 1001;

// How long the pickle of the number is that `bytes` begin with; 0: it is not there.
std::size_t magic_length(std::string_view bytes) {
  if (!bytes.starts_with('\x80') || bytes.size() < kProtocolBytes) return 0;
  const bool framed = bytes.substr(kProtocolBytes).starts_with('\x95');
  const std::size_t before = kProtocolBytes + (framed ? kFrameBytes : 0);
  if (bytes.size() < before || !bytes.substr(before).starts_with(kMagic)) return 0;
  return before + kMagic.size();
}

constexpr std::pair<std::string_view, std::int64_t> kElementBytes[] = {
    {"torch FloatStorage", 4},    {"torch DoubleStorage", 8}, {"torch HalfStorage", 2},
    {"torch BFloat16Storage", 2}, {"torch LongStorage", 8},   {"torch IntStorage", 4},
    {"torch ShortStorage", 2},    {"torch CharStorage", 1},   {"torch ByteStorage", 1},
    {"torch BoolStorage", 1}};

class PartOfFile : public ByteSource {
 public:
  PartOfFile(const FileBytes& file, std::int64_t offset, std::int64_t byte_count)
      : file_(file), offset_(offset), byte_count_(byte_count) {}
  void read(std::int64_t offset, std::span<std::byte> out) const override {
    file_.read(offset_ + offset, out);
  }
  std::int64_t byte_count() const override { return byte_count_; }

 private:
  const FileBytes& file_;
  std::int64_t offset_, byte_count_;
};

[[noreturn]] void fail(const FileBytes& file, const std::string& what) {
  throw DataError(
      fmt::format("{}: {}\na file of torch.save before PyTorch 1.6 was begun; it is cut off or "
                  "damaged",
                  file.name(), what));
}

using ElementBytes = std::unordered_map<std::string, std::int64_t>;

// Of every storage that a tensor within `value` lies in. Documents are at most 100 levels deep.
void collect_storages(const PickleValue& value, ElementBytes& found) {
  if (value.kind() == PickleKind::kStorage) {
    const auto* const type = std::ranges::find_if(
        kElementBytes, [&](const auto& known) { return known.first == value.item(1).text(); });
    if (type != std::end(kElementBytes)) {
      found.insert_or_assign(std::string(value.item(2).text()), type->second);
    }
  } else if (value.kind() == PickleKind::kDict) {
    for (std::size_t i = 0; i < value.size(); ++i) collect_storages(value.value(i), found);
  } else if (value.kind() >= PickleKind::kList) {
    for (std::size_t i = 0; i < value.size(); ++i) collect_storages(value.item(i), found);
  }
}

std::string beginning_of(const FileBytes& file, std::int64_t most) {
  std::string bytes(static_cast<std::size_t>(std::min(most, file.byte_count())), '\0');
  file.read(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

void check_machine(const FileBytes& file, const PickleValue& machine) {
  const auto little =
      machine.kind() == PickleKind::kDict ? machine.find("little_endian") : std::nullopt;
  if (little && little->kind() == PickleKind::kBool && little->integer() != 0) return;
  fail(file, "its numbers are not said to be little-endian");
}

void add_storages(const FileBytes& file, const PickleValue& keys, std::int64_t offset,
                  OldContent& content) {
  ElementBytes element_bytes;
  collect_storages(content.document.root(), element_bytes);
  if (keys.kind() != PickleKind::kList) fail(file, "there is no list of storages");
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const bool is_text = keys.item(i).kind() == PickleKind::kString;
    const std::string key(is_text ? keys.item(i).text() : "");
    const auto size = element_bytes.find(key);
    if (size == element_bytes.end()) {
      fail(file, fmt::format("storage {} belongs to no tensor", checkpoint::printable(key)));
    }
    std::int64_t count = 0, bytes = 0;
    const bool has_count = file.byte_count() - offset >= std::int64_t{sizeof count};
    if (has_count) file.read(offset, std::as_writable_bytes(std::span(&count, 1)));
    offset += std::int64_t{sizeof count};
    const bool fits = has_count && count >= 0 &&
                      !__builtin_mul_overflow(count, size->second, &bytes) &&
                      bytes <= file.byte_count() - offset;
    if (!fits) fail(file, fmt::format("storage {} ends early", checkpoint::printable(key)));
    content.storages.insert_or_assign(key, std::make_unique<PartOfFile>(file, offset, bytes));
    offset += bytes;
  }
}

}  // namespace

bool is_before_zip(const std::filesystem::path& path) {
  const InputFile file(path);
  std::array<char, kProtocolBytes + kFrameBytes + kMagic.size()> start{};
  file.read_at(0, std::as_writable_bytes(std::span(start)));
  return magic_length({start.data(), start.size()}) > 0;
}

OldContent read_old_content(const FileBytes& file) {
  const std::string bytes = beginning_of(file, pickle::PickleLimits::kFileBytes);
  std::string_view rest = bytes;
  rest.remove_prefix(magic_length(rest));
  const pickle::PickleDocument version = take_pickle(rest, file.name(), PickleDialect::kPlain);
  if (version.root().kind() != PickleKind::kInt || version.root().integer() != kVersion) {
    fail(file, "it is of a version that is not known");
  }
  check_machine(file, take_pickle(rest, file.name(), PickleDialect::kPlain).root());
  OldContent content{take_pickle(rest, file.name(), PickleDialect::kTorch), {}};
  const pickle::PickleDocument keys = take_pickle(rest, file.name(), PickleDialect::kPlain);
  add_storages(file, keys.root(), static_cast<std::int64_t>(bytes.size() - rest.size()), content);
  return content;
}

}  // namespace snug::formats::torch
