#include "doctor/log/traceback.h"

#include <algorithm>

#include "doctor/log/amount.h"
#include "doctor/log/message.h"
#include "doctor/log/text.h"

namespace snug::doctor::log {
namespace {

constexpr std::size_t kMaxPath = 160, kMaxFunction = 80, kMaxSource = 200;
constexpr int kMaxHeadLines = 4;
// Lines of other ranks may come between a frame's head and its source.
constexpr std::int64_t kMaxSourceDistance = 32;

std::string clipped(std::string_view text, std::size_t limit) {
  return std::string(text.substr(0, limit));
}

// The end of a path tells more than its beginning.
std::string clipped_path(std::string_view path) {
  return std::string(path.size() > kMaxPath ? path.substr(path.size() - kMaxPath) : path);
}

// take() with blanks on either side.
bool take_word(std::string_view& text, std::string_view words) {
  text = trimmed(text);
  const bool taken = take(text, words);
  text = trimmed(text);
  return taken;
}

std::int64_t take_number(std::string_view& text) {
  std::size_t at = 0;
  const std::int64_t number = parse_count(text, at).value_or(0);
  text.remove_prefix(at);
  return number;
}

// `path", line 12, in name`, from after the opening quote. Blanks may be missing where lines were
// joined. Nothing while the name is missing.
std::optional<LogFrame> parse_quoted(std::string_view head, bool needs_function) {
  const std::size_t quote = head.find('"');
  if (quote == std::string_view::npos) return std::nullopt;
  LogFrame frame;
  frame.file = clipped_path(head.substr(0, quote));
  if (frame.file.ends_with('\\')) frame.file.pop_back();  // the quote was escaped
  head.remove_prefix(quote + 1);
  if (!take_word(head, ",") || !take_word(head, "line")) return std::nullopt;
  frame.line = take_number(head);
  if (frame.line == 0) return std::nullopt;
  const bool has_function = take_word(head, ",") && take_word(head, "in") && !head.empty();
  if (!has_function && needs_function) return std::nullopt;
  if (!has_function) return frame;
  // Some loggers drop the line end before the source.
  const std::size_t gap = std::min(head.find("    "), head.size());
  frame.function = clipped(head.substr(0, gap), kMaxFunction);
  frame.source = clipped(trimmed(head.substr(gap)), kMaxSource);
  return frame;
}

// "12], line 5", from after "Cell In[".
std::optional<LogFrame> parse_cell(std::string_view text) {
  LogFrame frame;
  frame.file = "<cell>";
  const std::size_t line = text.find("line ");
  if (line == std::string_view::npos) return frame;
  text.remove_prefix(line + 5);
  frame.line = take_number(text);
  return frame;
}

// rich's "path.py:339 in main", IPython's "File path.py:12, in f(x)" and "path.py in f(x)".
std::optional<LogFrame> parse_unquoted(std::string_view text) {
  text = trimmed(text);
  take_word(text, "File ");
  if (std::string_view cell = text; take_word(cell, "Cell In[")) return parse_cell(cell);
  const std::size_t in = text.find(" in ");
  if (in == std::string_view::npos) return std::nullopt;
  std::string_view place = trimmed(text.substr(0, in));
  std::string_view name = trimmed(text.substr(in + 4));
  if (place.ends_with(',')) place.remove_suffix(1);
  const bool is_file = place.find(".py") != std::string_view::npos || place.starts_with("<ipython");
  if (!is_file || place.find(' ') != std::string_view::npos || name.empty()) return std::nullopt;
  LogFrame frame;
  const std::size_t colon = place.rfind(".py:");
  if (colon != std::string_view::npos) {
    std::string_view number = place.substr(colon + 4);
    frame.line = take_number(number);
    place = place.substr(0, colon + 3);
  }
  frame.file = clipped_path(place);
  frame.function = clipped(name.substr(0, name.find('(')), kMaxFunction);
  return frame;
}

// Windows' paths as the others, with one slash where a quoted text had two.
void unify_slashes(std::string& path) {
  std::replace(path.begin(), path.end(), '\\', '/');
  path.erase(
      std::unique(path.begin(), path.end(), [](char a, char b) { return a == '/' && b == '/'; }),
      path.end());
}

bool is_underline(std::string_view text) { return text.find_first_not_of(" ^~\t") == text.npos; }

}  // namespace

TracebackReader::Slot& TracebackReader::slot_of(std::optional<int> rank) {
  const int wanted = rank.value_or(-1);
  const std::size_t index =
      wanted < 0 ? kSlotCount - 1 : static_cast<std::size_t>(wanted) % (kSlotCount - 1);
  if (slots_[index].rank != wanted) slots_[index] = Slot(wanted);
  return slots_[index];
}

void TracebackReader::begin(const LogLine& line) {
  Slot& slot = slot_of(line.rank);
  const bool is_interleaved =
      !line.rank && !slot.frames.empty() && line.number == slot.last_line + 1;
  if (!is_interleaved) slot = Slot(line.rank.value_or(-1));
}

void TracebackReader::add(Slot& slot, LogFrame frame) {
  if (slot.frames.size() == kMaxFrames) {
    slot.frames.erase(slot.frames.begin() + static_cast<std::ptrdiff_t>(kMaxFrames / 2));
  }
  slot.awaits_source = frame.source.empty();
  unify_slashes(frame.file);
  slot.frames.push_back(std::move(frame));
  slot.head.clear();
}

bool TracebackReader::finish_head(Slot& slot, bool is_last_try) {
  std::optional<LogFrame> frame = parse_quoted(slot.head, !is_last_try);
  if (frame) add(slot, std::move(*frame));
  if (!frame && is_last_try) slot.head.clear();
  return frame.has_value();
}

bool TracebackReader::read_head(const LogLine& line, std::size_t at) {
  Slot& slot = slot_of(line.rank);
  const bool is_quoted = at > 0 && line.text[at - 1] == '"';
  if (is_quoted) {
    if (!slot.head.empty()) finish_head(slot, true);
    slot.head = clipped(line.text.substr(at), 2 * kMaxPath + kMaxFunction);
    slot.head_lines = 1;
    finish_head(slot, false);
  } else if (std::optional<LogFrame> frame = parse_unquoted(line.text)) {
    add(slot, std::move(*frame));
    slot.awaits_source = false;
  } else {
    return false;
  }
  slot.line = slot.last_line = last_line_ = line.number;
  slot.is_indented = is_indented(line.text);
  last_head_ = &slot;
  is_active_ = true;
  return true;
}

TracebackReader::Slot& TracebackReader::slot_continued_by(const LogLine& line) {
  const bool may_continue = !line.rank && last_head_ != nullptr && line.number == last_line_ + 1;
  return may_continue ? *last_head_ : slot_of(line.rank);
}

// The line that rich's or IPython's arrow points at.
void TracebackReader::read_marked(const LogLine& line) {
  Slot& slot = slot_of(line.rank);
  if (slot.frames.empty() || !slot.frames.back().source.empty()) return;
  slot.frames.back().source = clipped(trimmed(line.text), kMaxSource);
  if (slot.frames.back().line == 0) slot.frames.back().line = line.gutter;
}

bool TracebackReader::read_source(Slot& slot, const LogLine& line, std::string_view text) {
  const bool is_exception = !exception_name(text).empty();
  const bool has_indent = is_indented(line.text);
  if (!has_indent && is_exception) return false;
  std::string& function = slot.frames.back().function;
  const bool is_outside = (slot.rank >= 0 && !line.rank) || (slot.is_indented && !has_indent);
  if (is_outside && text.find(' ') == std::string_view::npos && !function.empty()) {
    if (function.size() < kMaxFunction) function += clipped(text, kMaxFunction);
    slot.awaits_source = true;
    return false;
  }
  slot.frames.back().source = clipped(text, kMaxSource);
  return true;
}

// The last line of a frame.
void TracebackReader::note_underline(const LogLine& line) {
  const std::string_view text = trimmed(line.text);
  if (!text.empty() && is_underline(text)) slot_of(line.rank).last_line = line.number;
}

bool TracebackReader::read_other(const LogLine& line) {
  if (line.has_marker) {
    read_marked(line);
    return true;
  }
  if (!is_active_) {
    if (line.number == last_line_ + 1) note_underline(line);
    return line.is_source;
  }
  Slot& slot = slot_continued_by(line);
  const std::string_view text = trimmed(line.text);
  if (!text.empty() || line.number == last_line_ + 1) last_line_ = line.number;
  if (text.empty() || line.is_source) return line.is_source;
  if (!slot.head.empty()) {
    const bool is_over = !exception_name(text).empty();
    if (!is_over) slot.head += text;
    finish_head(slot, is_over || ++slot.head_lines >= kMaxHeadLines);
    if (!is_over) return true;
  }
  if (is_underline(text)) return true;
  const bool awaits_source = slot.awaits_source && line.number <= slot.line + kMaxSourceDistance;
  slot.awaits_source = false;
  const bool is_source = awaits_source && !line.has_border && read_source(slot, line, text);
  if (is_source) slot.last_line = line.number;
  is_active_ = std::any_of(slots_.begin(), slots_.end(),
                           [](const Slot& s) { return s.awaits_source || !s.head.empty(); });
  return is_source;
}

std::vector<LogFrame> TracebackReader::take(std::optional<int> rank) {
  Slot& slot = slot_of(rank);
  if (!slot.head.empty()) finish_head(slot, true);
  std::vector<LogFrame> frames = std::move(slot.frames);
  slot = Slot(rank.value_or(-1));
  return frames;
}

}  // namespace snug::doctor::log
