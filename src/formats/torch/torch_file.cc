#include "formats/torch/torch_file.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "base/error.h"
#include "checkpoint/tensor_label.h"
#include "formats/torch/old_file.h"

namespace snug::formats::torch {
namespace {

constexpr std::string_view kPickleName = "data.pkl";

struct StorageType {
  std::string_view name;
  std::optional<DType> dtype;
};
constexpr std::array<StorageType, 4> kFloats = {{{"torch FloatStorage", DType::kF32},
                                                 {"torch HalfStorage", DType::kF16},
                                                 {"torch BFloat16Storage", DType::kBF16},
                                                 {"torch DoubleStorage", DType::kF64}}};

std::optional<DType> float_type(std::string_view storage) {
  for (const StorageType& type : kFloats) {
    if (type.name == storage) return type.dtype;
  }
  return std::nullopt;
}

std::string read_text(const ZipArchive& archive, const ZipArchive::Entry& entry,
                      std::int64_t most) {
  if (entry.byte_count > most) {
    throw DataError(fmt::format("{}: entry {} is {} bytes long, at most {} are read",
                                archive.name(), checkpoint::printable(entry.name), entry.byte_count,
                                most));
  }
  std::string text(static_cast<std::size_t>(entry.byte_count), '\0');
  ZipBytes(archive, entry).read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

std::vector<std::int64_t> whole_numbers(const pickle::PickleValue& tuple) {
  std::vector<std::int64_t> numbers;
  if (tuple.kind() != pickle::PickleKind::kTuple && tuple.kind() != pickle::PickleKind::kList)
    return {-1};
  for (std::size_t i = 0; i < tuple.size(); ++i) {
    if (tuple.item(i).kind() != pickle::PickleKind::kInt) return {-1};
    numbers.push_back(tuple.item(i).integer());
  }
  return numbers;
}

bool is_row_major(const std::vector<std::int64_t>& size, const std::vector<std::int64_t>& stride) {
  std::int64_t expected = 1;
  for (std::size_t i = size.size(); i-- > 0;) {
    if (size[i] != 1 && stride[i] != expected) return false;
    if (__builtin_mul_overflow(expected, size[i], &expected)) return false;
  }
  return true;
}

bool is_zip(const std::filesystem::path& path) {
  const InputFile file(path);
  std::array<char, 4> start{};
  file.read_at(0, std::as_writable_bytes(std::span(start)));
  return std::memcmp(start.data(), "PK\x03\x04", start.size()) == 0;
}

}  // namespace

bool is_torch_file(const std::filesystem::path& path) {
  return is_zip(path) || is_before_zip(path);
}

TorchFile::TorchFile(const std::filesystem::path& path) : name_(path.string()) {
  if (is_zip(path)) {
    open_archive(path);
    return;
  }
  refuse_lfs_pointer(path);
  if (!is_before_zip(path)) {
    throw DataError(
        fmt::format("{} is not a file of torch.save: it is cut off, damaged or something "
                    "else",
                    name_));
  }
  old_file_ = std::make_unique<FileBytes>(path);
  OldContent content = read_old_content(*old_file_);
  pickle_ = std::make_unique<pickle::PickleDocument>(std::move(content.document));
  storages_ = std::move(content.storages);
}

void TorchFile::open_archive(const std::filesystem::path& path) {
  archive_ = std::make_unique<ZipArchive>(path);
  const ZipArchive::Entry* pickle = nullptr;
  for (const ZipArchive::Entry& entry : archive_->entries()) {
    if (entry.name == kPickleName || entry.name.ends_with("/" + std::string(kPickleName))) {
      pickle = &entry;
      break;
    }
  }
  if (pickle == nullptr) {
    throw DataError(
        fmt::format("{}: the archive has no data.pkl: it is not of torch.save", archive_->name()));
  }
  prefix_ = pickle->name.substr(0, pickle->name.size() - kPickleName.size());
  if (const ZipArchive::Entry* order = archive_->find(prefix_ + "byteorder")) {
    if (read_text(*archive_, *order, 64) != "little") {
      throw DataError(fmt::format("{}: its numbers are big-endian, which is not read", name()));
    }
  }
  pickle_ = std::make_unique<pickle::PickleDocument>(
      pickle::parse_pickle(read_text(*archive_, *pickle, pickle::PickleLimits::kFileBytes), name(),
                           pickle::PickleDialect::kTorch));
}

const ByteSource& TorchFile::storage(const std::string& key, const std::string& called) {
  const auto known = storages_.find(key);
  if (known != storages_.end()) return *known->second;
  const ZipArchive::Entry* entry = archive_ ? archive_->find(prefix_ + "data/" + key) : nullptr;
  if (entry == nullptr) {
    throw DataError(fmt::format("{}: the data of tensor {} is missing from the file", name(),
                                checkpoint::printable(called)));
  }
  return *storages_.emplace(key, std::make_unique<ZipBytes>(*archive_, *entry)).first->second;
}

StoredTensor TorchFile::tensor(const pickle::PickleValue& value, const std::string& called) {
  const auto fail = [&](const std::string& what) {
    throw DataError(fmt::format("{}: tensor {} {}", name(), checkpoint::printable(called), what));
  };
  if (value.kind() != pickle::PickleKind::kTensor) fail("is something else");
  const pickle::PickleValue held = value.item(0);
  const std::optional<DType> dtype = float_type(held.item(1).text());
  if (!dtype) fail(fmt::format("is of {}, not floating-point", held.item(1).text()));
  const std::vector<std::int64_t> size = whole_numbers(value.item(2)),
                                  stride = whole_numbers(value.item(3));
  const std::optional<Shape> shape = checkpoint::shape_of(size);
  if (!shape || size.size() != stride.size()) fail("has a shape that makes no sense");
  std::int64_t offset = 0;
  if (value.item(1).kind() != pickle::PickleKind::kInt ||
      __builtin_mul_overflow(value.item(1).integer(), size_of(*dtype), &offset)) {
    fail("has an offset that makes no sense");
  }
  StoredTensor tensor{.bytes = &storage(std::string(held.item(2).text()), called),
                      .offset = offset,
                      .dtype = *dtype,
                      .shape = *shape,
                      .transposed = false};
  if (!is_row_major(size, stride)) {
    const bool columns_first = size.size() == 2 && stride[0] == 1 && stride[1] == size[0];
    if (!columns_first) fail("is neither row by row nor column by column: save its contiguous()");
    tensor.transposed = true;
  }
  check_extent(tensor, checkpoint::printable(called), name());
  return tensor;
}

double TorchFile::number(const pickle::PickleValue& value, const std::string& called) {
  if (value.kind() == pickle::PickleKind::kFloat) return value.real();
  if (value.kind() == pickle::PickleKind::kInt) return static_cast<double>(value.integer());
  const StoredTensor scalar = tensor(value, called);
  if (scalar.element_count() != 1) {
    throw DataError(fmt::format("{}: {} is not a single number", name(), called));
  }
  float number = 0;
  scalar.read(0, {&number, 1});
  return static_cast<double>(number);
}

}  // namespace snug::formats::torch
