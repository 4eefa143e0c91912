#include "pickle/stream/byte_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"

namespace snug::pickle::stream {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;

}  // namespace

ByteReader::ByteReader(ByteSource source, const std::string& name)
    : source_(std::move(source)), name_(name), buffer_(kBufferBytes) {}

void ByteReader::fail(const std::string& what) const {
  throw DataError(
      fmt::format("{} cannot be read: {} (byte {})\nit is not a pickle of plain data, "
                  "or it is damaged; make it again",
                  name_, what, with_thousands(position())));
}

// Moves what is left to the front and reads more after it.
bool ByteReader::refill() {
  std::memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
  before_ += static_cast<std::int64_t>(at_);
  end_ -= at_;
  at_ = 0;
  const std::size_t got = source_(std::span(buffer_).subspan(end_));
  end_ += std::min(got, buffer_.size() - end_);
  return got > 0;
}

void ByteReader::need(std::size_t count) {
  while (end_ - at_ < count) {
    if (!refill())
      fail(fmt::format("it is cut off: {} more bytes wanted, {} left", count, end_ - at_));
  }
}

std::uint64_t ByteReader::little_endian(std::size_t byte_count) {
  if (end_ - at_ < byte_count) need(byte_count);
  std::uint64_t value = 0;
  for (std::size_t i = byte_count; i-- > 0;) {
    value = (value << 8) | static_cast<unsigned char>(buffer_[at_ + i]);
  }
  at_ += byte_count;
  return value;
}

std::string_view ByteReader::bytes(std::uint64_t count) {
  const auto kept = static_cast<std::size_t>(std::min<std::uint64_t>(count, kLongest));
  need(kept);
  if (kept == count) {
    at_ += kept;
    return {buffer_.data() + at_ - kept, kept};
  }
  // Longer than anything that is kept: its end is read past, and its beginning put where no
  // refill moves it.
  beginning_.assign(buffer_.data() + at_, kept);
  at_ += kept;
  for (std::uint64_t left = count - kept; left > 0;) {
    const std::size_t step = static_cast<std::size_t>(std::min<std::uint64_t>(left, kLongest));
    need(step);
    at_ += step;
    left -= step;
  }
  return beginning_;
}

std::string_view ByteReader::line() {
  for (std::size_t searched = 0;;) {
    const void* found = std::memchr(buffer_.data() + at_ + searched, '\n', end_ - at_ - searched);
    if (found != nullptr) {
      const char* begin = buffer_.data() + at_;
      const auto length = static_cast<std::size_t>(static_cast<const char*>(found) - begin);
      at_ += length + 1;
      return {begin, length};
    }
    searched = end_ - at_;
    if (searched > kLongest) fail("a line is too long");
    if (!refill()) fail("it is cut off within a line");
  }
}

}  // namespace snug::pickle::stream
