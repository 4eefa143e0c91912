// The bytes of a pickle of any size, a buffer at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace snug::pickle::stream {

// Fills the front of a buffer and returns how many bytes; 0: the end.
using ByteSource = std::function<std::size_t(std::span<char>)>;

class ByteReader {
 public:
  // Texts and lines beyond this are cut.
  static constexpr std::size_t kLongest = 1 << 16;

  // `name` is for messages, and outlives this.
  ByteReader(ByteSource source, const std::string& name);

  std::uint8_t byte() {
    if (at_ == end_) need(1);
    return static_cast<std::uint8_t>(buffer_[at_++]);
  }
  std::uint64_t little_endian(std::size_t byte_count);  // at most 8
  // Valid until the next call. Of more than kLongest bytes the first; all are consumed.
  std::string_view bytes(std::uint64_t count);
  std::string_view line();  // without its end; throws when longer than kLongest

  std::int64_t position() const { return before_ + static_cast<std::int64_t>(at_); }
  [[noreturn]] void fail(const std::string& what) const;

 private:
  void need(std::size_t count);  // at most kLongest bytes at at_, or throws
  bool refill();

  ByteSource source_;
  const std::string& name_;
  std::vector<char> buffer_;
  std::string beginning_;  // of a text that is longer than kLongest
  std::size_t at_ = 0, end_ = 0;
  std::int64_t before_ = 0;  // bytes before the buffer
};

}  // namespace snug::pickle::stream
