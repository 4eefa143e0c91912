#include "formats/gguf/metadata.h"

namespace snug::formats::gguf {
namespace {

// The types of values.
constexpr std::uint32_t kUint32 = 4, kInt32 = 5, kFloat32 = 6, kBool = 7, kString = 8, kArray = 9;

}  // namespace

void append_text(std::string& bytes, std::string_view text) {
  append_number(bytes, static_cast<std::uint64_t>(text.size()));
  bytes += text;
}

void GgufMetadata::begin(std::string_view key, std::uint32_t type) {
  append_text(bytes_, key);
  append_number(bytes_, type);
  ++count_;
}

void GgufMetadata::text(std::string_view key, std::string_view value) {
  begin(key, kString);
  append_text(bytes_, value);
}

void GgufMetadata::number(std::string_view key, std::uint32_t value) {
  begin(key, kUint32);
  append_number(bytes_, value);
}

void GgufMetadata::real(std::string_view key, float value) {
  begin(key, kFloat32);
  append_number(bytes_, value);
}

void GgufMetadata::boolean(std::string_view key, bool value) {
  begin(key, kBool);
  append_number(bytes_, static_cast<std::uint8_t>(value));
}

void GgufMetadata::texts(std::string_view key, std::span<const std::string> values) {
  begin(key, kArray);
  append_number(bytes_, kString);
  append_number(bytes_, static_cast<std::uint64_t>(values.size()));
  for (const std::string& value : values) append_text(bytes_, value);
}

void GgufMetadata::numbers(std::string_view key, std::span<const std::int32_t> values) {
  begin(key, kArray);
  append_number(bytes_, kInt32);
  append_number(bytes_, static_cast<std::uint64_t>(values.size()));
  for (const std::int32_t value : values) append_number(bytes_, value);
}

}  // namespace snug::formats::gguf
