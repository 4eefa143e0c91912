// The keys and values that a GGUF file opens with.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace snug::formats::gguf {

class GgufMetadata {
 public:
  void text(std::string_view key, std::string_view value);
  void number(std::string_view key, std::uint32_t value);
  void real(std::string_view key, float value);
  void boolean(std::string_view key, bool value);
  void texts(std::string_view key, std::span<const std::string> values);
  void numbers(std::string_view key, std::span<const std::int32_t> values);

  std::uint64_t count() const { return count_; }
  const std::string& bytes() const { return bytes_; }

 private:
  void begin(std::string_view key, std::uint32_t type);

  std::string bytes_;
  std::uint64_t count_ = 0;
};

// A number's little-endian bytes, and a text with its length before it, as the format has them.
template <class Number>
void append_number(std::string& bytes, Number value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void append_text(std::string& bytes, std::string_view text);

}  // namespace snug::formats::gguf
