// A stream of any bytes as lines of text, in bounded memory: escape sequences, NULs (UTF-16 becomes
// its ASCII part) and carriage returns are gone, a progress bar's redraws are lines of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <streambuf>
#include <string>
#include <string_view>

namespace snug::doctor::log {

struct RawLine {
  std::string_view text;      // valid until the next call of next()
  std::int64_t number = 0;    // 1-based; the redraws of a progress bar share one
  bool is_continued = false;  // a further piece of a line over kMaxLineBytes
};

class LineSource {
 public:
  // Longer lines come in pieces of this size. No message is near it; a tokenised dataset dumped on
  // one line is far beyond it.
  static constexpr std::size_t kMaxLineBytes = 32 << 10;

  // `bytes` may be null (an empty stream) and must outlive the source.
  explicit LineSource(std::streambuf* bytes);

  // False at the end of the stream.
  bool next(RawLine& line);

  std::int64_t byte_count() const noexcept { return byte_count_; }
  std::int64_t line_count() const noexcept { return line_count_; }

 private:
  bool take_raw(std::string_view& raw);
  void refill();
  std::string_view without_controls(std::string_view raw);

  std::streambuf* bytes_;
  std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  bool at_end_ = false;
  bool is_continued_ = false;      // the piece before this one did not end its line
  bool piece_continues_ = false;   // the piece in hand continues a line
  bool has_controls_ = false;      // the bytes in the buffer hold NUL, ESC or CR
  bool has_markup_ = false;        // or characters that markup is made of
  bool has_backslash_ = false;     // or what escapes are made of
  bool has_lost_escapes_ = false;  // or colours without their ESC
  std::string scratch_, plain_, split_, coloured_;
  std::string_view redraws_;  // of the line in hand, still to be returned
  std::int64_t byte_count_ = 0, line_count_ = 0;
};

}  // namespace snug::doctor::log
