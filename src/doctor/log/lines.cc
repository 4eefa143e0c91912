#include "doctor/log/lines.h"

#include <algorithm>
#include <cstring>

#include "doctor/log/markup.h"
#include "doctor/log/text.h"

namespace snug::doctor::log {
namespace {

// One read: large against a call's cost, small against the second-level cache. Twice the longest
// piece of a line, so that a piece always fits.
constexpr std::size_t kBlockBytes = 64 << 10;
static_assert(kBlockBytes >= 2 * LineSource::kMaxLineBytes);
constexpr char kEscape = '\x1B';

bool contains(std::string_view text, char c) {
  return !text.empty() && std::memchr(text.data(), c, text.size()) != nullptr;
}

// The end of the escape sequence at `at`: CSI up to its final byte, OSC up to BEL or ESC, else two
// bytes. An OSC that never ends takes at most kMaxOscBytes, not the rest of the line.
std::size_t escape_end(std::string_view text, std::size_t at) {
  constexpr std::size_t kMaxOscBytes = 256;
  const char kind = at + 1 < text.size() ? text[at + 1] : '\0';
  std::size_t end = at + 2;
  if (kind == '[') {
    while (end < text.size() && !(text[end] >= '@' && text[end] <= '~')) ++end;
    return end + 1;
  }
  if (kind == ']') {
    while (end < text.size() && end < at + kMaxOscBytes && text[end] != '\a' &&
           text[end] != kEscape) {
      ++end;
    }
    return end < text.size() && text[end] == kEscape ? end + 2 : end + 1;
  }
  return end;
}

void drop_escapes_and_nuls(std::string_view raw, std::string& out) {
  out.clear();
  for (std::size_t at = 0; at < raw.size();) {
    if (raw[at] == kEscape) {
      at = escape_end(raw, at);
    } else {
      if (raw[at] != '\0') out += raw[at];
      ++at;
    }
  }
}

// Colours whose escape character was lost on the way: "[0;31mRuntimeError[0m".
std::string without_lost_colours(std::string_view raw) {
  std::string plain;
  for (std::size_t at = 0; at < raw.size(); ++at) {
    std::size_t end = at + 1;
    while (raw[at] == '[' && end < raw.size() && (is_digit(raw[end]) || raw[end] == ';')) ++end;
    if (end > at + 1 && end < raw.size() && raw[end] == 'm') {
      at = end;
    } else {
      plain += raw[at];
    }
  }
  return plain;
}

// A whole traceback in one line, as JSON writes it: with \\n for its line ends.
bool has_escaped_lines(std::string_view raw) {
  return raw.find(R"(\n  File )") != std::string_view::npos;
}

// The same with the line ends of a redrawn line.
std::string with_line_ends(std::string_view raw) {
  std::string lines;
  for (std::size_t at = 0; at < raw.size(); ++at) {
    const bool is_escape = raw[at] == '\\' && at + 1 < raw.size();
    if (is_escape && raw[at + 1] == 'n') {
      lines += '\r';
      ++at;
    } else {
      if (is_escape && (raw[at + 1] == '"' || raw[at + 1] == '\\')) ++at;
      lines += raw[at];
    }
  }
  return lines;
}

// UTF-8's and UTF-16's byte order marks.
std::string_view without_byte_order_mark(std::string_view text) {
  for (const std::string_view mark : {"\xEF\xBB\xBF", "\xFF\xFE", "\xFE\xFF"}) {
    if (text.starts_with(mark)) return text.substr(mark.size());
  }
  return text;
}

}  // namespace

LineSource::LineSource(std::streambuf* bytes)
    : bytes_(bytes),
      buffer_(std::make_unique_for_overwrite<char[]>(kBlockBytes)),
      at_end_(bytes == nullptr) {}

void LineSource::refill() {
  std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  const auto room = static_cast<std::streamsize>(kBlockBytes - end_);
  const std::streamsize got = bytes_->sgetn(buffer_.get() + end_, room);
  if (got <= 0) at_end_ = true;
  if (got > 0) {
    end_ += static_cast<std::size_t>(got);
    byte_count_ += got;
  }
  const std::string_view held(buffer_.get(), end_);
  has_backslash_ = contains(held, '\\');
  has_markup_ = contains(held, '&') || contains(held, '<') || contains(held, '\xC2');
  has_lost_escapes_ = held.find("[0m") != held.npos || held.find("[0;") != held.npos;
  has_controls_ = contains(held, '\r') || contains(held, kEscape) || contains(held, '\0');
}

// A line without its newline, or a piece of one that is too long.
bool LineSource::take_raw(std::string_view& raw) {
  while (true) {
    const std::string_view held(buffer_.get() + begin_, end_ - begin_);
    const std::size_t window = std::min(held.size(), kMaxLineBytes);
    const void* newline = window > 0 ? std::memchr(held.data(), '\n', window) : nullptr;
    if (newline == nullptr && held.size() < kMaxLineBytes && !at_end_) {
      refill();  // moves what is held, also at the end
      continue;
    }
    if (newline == nullptr && window == 0) return false;
    piece_continues_ = is_continued_;
    if (!is_continued_) ++line_count_;
    is_continued_ = newline == nullptr;
    const std::size_t length =
        newline == nullptr
            ? window
            : static_cast<std::size_t>(static_cast<const char*>(newline) - held.data());
    raw = held.substr(0, length);
    begin_ += length + (newline == nullptr ? 0 : 1);
    return true;
  }
}

std::string_view LineSource::without_controls(std::string_view raw) {
  if (contains(raw, '\0') || contains(raw, kEscape)) {
    drop_escapes_and_nuls(raw, scratch_);
    raw = scratch_;
  }
  while (raw.ends_with('\r')) raw.remove_suffix(1);
  const std::size_t redraw = raw.find('\r');
  if (redraw != std::string_view::npos) {
    redraws_ = raw.substr(redraw + 1);
    raw = raw.substr(0, redraw);
  }
  return raw;
}

bool LineSource::next(RawLine& line) {
  if (!redraws_.empty()) {
    const std::size_t end = redraws_.find('\r');
    line = {redraws_.substr(0, end), line_count_, false};
    redraws_ = end == std::string_view::npos ? std::string_view{} : redraws_.substr(end + 1);
    return true;
  }
  std::string_view raw;
  if (!take_raw(raw)) return false;
  if (line_count_ == 1) raw = without_byte_order_mark(raw);
  if (has_markup_ && has_markup(raw)) raw = plain_ = without_markup(raw);
  const bool is_escaped = has_backslash_ && has_escaped_lines(raw);
  if (is_escaped) raw = split_ = with_line_ends(raw);
  if (has_controls_ || is_escaped) raw = without_controls(raw);
  if (has_lost_escapes_ && raw.find('[') != raw.npos) raw = coloured_ = without_lost_colours(raw);
  line = {raw, line_count_, piece_continues_};
  return true;
}

}  // namespace snug::doctor::log
