// The characters of a UTF-8 file, one after the other, in constant memory. Line ends are read as
// Python's text mode reads them (\r\n and \r become \n), for nanoGPT's prepare.py does so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/input_file.h"

namespace snug::data {

class CharStream {
 public:
  // `file` must outlive the stream.
  explicit CharStream(const InputFile& file);

  // Nothing at the end. Throws DataError, with the byte offset, at bytes that are not UTF-8.
  std::optional<char32_t> next();

  // Bytes of the file taken so far.
  std::int64_t position() const noexcept {
    return read_bytes_ - static_cast<std::int64_t>(end_ - begin_);
  }

 private:
  bool has(std::size_t count);  // tries to have `count` bytes in the buffer
  [[noreturn]] void fail_not_utf8() const;

  const InputFile& file_;
  std::string buffer_;
  std::size_t begin_ = 0, end_ = 0;  // the unread part of the buffer
  std::int64_t read_bytes_ = 0;
};

}  // namespace snug::data
