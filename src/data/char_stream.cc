#include "data/char_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/utf8.h"

namespace snug::data {
namespace {

constexpr std::size_t kBufferBytes = 1 << 16;
constexpr std::size_t kLongestCharacter = 4;

}  // namespace

CharStream::CharStream(const InputFile& file) : file_(file), buffer_(kBufferBytes, '\0') {}

bool CharStream::has(std::size_t count) {
  if (end_ - begin_ >= count) return true;
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
            buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
  end_ -= begin_;
  begin_ = 0;
  const auto space = std::as_writable_bytes(std::span(buffer_)).subspan(end_);
  const std::int64_t got = file_.read_at(read_bytes_, space);
  end_ += static_cast<std::size_t>(got);
  read_bytes_ += got;
  return end_ >= count;
}

std::optional<char32_t> CharStream::next() {
  if (!has(kLongestCharacter) && begin_ == end_) return std::nullopt;
  const Utf8Char character = decode_utf8(std::string_view(buffer_).substr(begin_, end_ - begin_));
  if (character.length <= 0) fail_not_utf8();
  begin_ += static_cast<std::size_t>(character.length);
  if (character.code_point != U'\r') return character.code_point;
  if (has(1) && buffer_[begin_] == '\n') ++begin_;
  return U'\n';
}

void CharStream::fail_not_utf8() const {
  std::array<char, 4> head{};
  file_.read_at(0, std::as_writable_bytes(std::span(head)));
  const std::string_view start(head.data(), head.size());
  for (const auto& [magic, unpack] :
       {std::pair("\x1F\x8B", "zcat"), std::pair("\x28\xB5\x2F\xFD", "zstdcat"),
        std::pair("\xFD"
                  "7zX",
                  "xzcat")}) {
    if (!start.starts_with(magic)) continue;
    throw DataError(fmt::format("{} is packed\nunpack it first: {} '{}' > input.txt", file_.name(),
                                unpack, file_.name()));
  }
  throw DataError(fmt::format(
      "{} is not UTF-8 text: byte 0x{:02X} at offset {}\nsave it as UTF-8, "
      "for example with `iconv -t utf-8`",
      file_.name(), static_cast<unsigned char>(buffer_[begin_]), with_thousands(position())));
}

}  // namespace snug::data
