#include "checkpoint/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace snug::checkpoint {
namespace {

using Prefix = std::array<std::byte, kSafetensorsPrefixBytes>;

Prefix encode_length(std::size_t length) {
  Prefix prefix;
  for (std::size_t i = 0; i < prefix.size(); ++i) prefix[i] = std::byte(length >> (8 * i));
  return prefix;
}

std::uint64_t decode_length(const Prefix& prefix) {
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    length |= std::to_integer<std::uint64_t>(prefix[i]) << (8 * i);
  }
  return length;
}

}  // namespace

std::int64_t safetensors_bytes(std::span<const NamedTensor> tensors) {
  std::int64_t bytes = kSafetensorsPrefixBytes + std::ssize(make_safetensors_header(tensors));
  for (const NamedTensor& tensor : tensors) bytes = checked_add(bytes, tensor.byte_count());
  return bytes;
}

FileDigest write_safetensors(FileSystem& file_system, const Path& path,
                             std::span<const NamedTensor> tensors, TensorBytes& bytes) {
  const std::string header = make_safetensors_header(tensors);
  OutputFile file(file_system, path);
  Checksum checksum;
  std::int64_t byte_count = 0;
  const auto write = [&](std::span<const std::byte> piece) {
    checksum.update(piece);
    file.write(piece);
    byte_count += std::ssize(piece);
  };
  write(encode_length(header.size()));
  write(std::as_bytes(std::span(header)));
  for (const NamedTensor& tensor : tensors) {
    for_each_piece(tensor.byte_count(), [&](std::int64_t at, std::int64_t count) {
      write(bytes.get(tensor.id, at, count));
    });
  }
  file.finish();
  return {byte_count, checksum.value()};
}

SafetensorsReader::SafetensorsReader(const Path& path)
    : SafetensorsReader(std::make_unique<InputFile>(path)) {}

SafetensorsReader::SafetensorsReader(std::unique_ptr<InputFile> file) : file_(std::move(file)) {
  const Path path = file_->name();
  Prefix prefix{};
  if (file_->byte_count() < std::ssize(prefix)) {
    throw DataError(fmt::format("{}: not a safetensors file, only {} bytes long", path.string(),
                                file_->byte_count()));
  }
  file_->read_exactly(0, prefix);
  const std::uint64_t length = decode_length(prefix);
  const auto after_prefix = static_cast<std::uint64_t>(file_->byte_count() - std::ssize(prefix));
  if (length > std::min<std::uint64_t>(after_prefix, kSafetensorsMaxHeaderBytes)) {
    throw DataError(fmt::format(
        "{}: tells of a header of {} bytes\nat most {} are left in the file and {} allowed",
        path.string(), length, after_prefix, kSafetensorsMaxHeaderBytes));
  }
  std::string header(length, '\0');
  file_->read_exactly(std::ssize(prefix), std::as_writable_bytes(std::span(header)));
  header_checksum_.update(prefix);
  header_checksum_.update(header);
  data_start_ = std::ssize(prefix) + std::ssize(header);
  header_ = parse_safetensors_header(header, file_->byte_count() - data_start_, path);
}

void SafetensorsReader::read_all(std::span<const NamedTensor> tensors, TensorBytes& bytes,
                                 std::optional<std::uint64_t> checksum) const {
  std::vector<TensorLabel> labels;
  for (const SafetensorsEntry& entry : header_.entries) labels.push_back(entry.label);
  require_same_tensors(labels, tensors, file_->name());
  std::unordered_map<std::string_view, const NamedTensor*> by_name;
  for (const NamedTensor& tensor : tensors) by_name.emplace(tensor.name, &tensor);
  Checksum found = header_checksum_;
  for (const SafetensorsEntry& entry : header_.entries) {
    read_data(entry, *by_name.at(entry.label.name), bytes, found);
  }
  if (checksum && *checksum != found.value()) {
    throw DataError(
        fmt::format("{}: the content has changed since it was saved\n"
                    "wanted checksum {}, found {}",
                    file_->name(), to_hex(*checksum), to_hex(found.value())));
  }
}

void SafetensorsReader::read(const SafetensorsEntry& entry, const NamedTensor& tensor,
                             TensorBytes& bytes) const {
  require_same_tensors({&entry.label, 1}, {&tensor, 1}, file_->name());
  Checksum unused;
  read_data(entry, tensor, bytes, unused);
}

void SafetensorsReader::read_data(const SafetensorsEntry& entry, const NamedTensor& tensor,
                                  TensorBytes& bytes, Checksum& checksum) const {
  for_each_piece(tensor.byte_count(), [&](std::int64_t at, std::int64_t count) {
    bytes.put(tensor.id, at, count, [&](std::span<std::byte> piece) {
      file_->read_exactly(data_start_ + entry.begin + at, piece);
      checksum.update(piece);
    });
  });
}

}  // namespace snug::checkpoint
