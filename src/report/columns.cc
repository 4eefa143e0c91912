#include "report/columns.h"

#include <algorithm>
#include <iterator>

namespace snug::report {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;
};

struct Range {
  char32_t first, last;
};

// East Asian Width W and F of Unicode, as blocks.
constexpr Range kWide[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},
    {0x4E00, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
    {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
    {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD},
};
constexpr Range kZero[] = {{0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};

template <std::size_t kCount>
bool is_in(const Range (&ranges)[kCount], char32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const Range& r) { return r.first <= code && code <= r.last; });
}

// The first character of a text that is not empty; kReplacement and one byte for what is no UTF-8.
Character next_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {kReplacement, 1};
  char32_t code = lead & (0x7F >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {kReplacement, 1};
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr char32_t kMin[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool valid =
      code >= kMin[length] && code <= 0x10FFFF && !(code >= 0xD800 && code <= 0xDFFF);
  return valid ? Character{code, length} : Character{kReplacement, 1};
}

bool is_one_of(std::u32string_view set, char32_t code) {
  return set.find(code) != std::u32string_view::npos;
}
bool closes(char32_t code) {
  return is_one_of(
      U"。，、；：！？）」』】》〉”’…ー～・ぁぃぅぇぉっゃゅょァィゥェォッャュョ,.;:!?)]}%", code);
}
bool opens(char32_t code) { return is_one_of(U"（「『【《〈“‘([{", code); }

bool may_break_between(char32_t before, char32_t after) {
  if (columns_of(before) < 2 && columns_of(after) < 2) return false;
  return !opens(before) && !closes(after);
}

// What stays on one line, and whether a blank stood before it.
struct Unit {
  std::string text;
  bool blank_before = false;
};

bool is_unit_of_bytes(std::string_view word) {
  return word.starts_with("KiB") || word.starts_with("MiB") || word.starts_with("GiB") ||
         word == "B" || word.starts_with("B ") || word.starts_with("B,");
}

// "6.14 GiB", "n_head = 8" and `del logits` stay together.
bool is_glue(char32_t before, std::string_view after, bool in_code) {
  if (in_code || before == '=' || after.starts_with("= ")) return true;
  return before >= '0' && before <= '9' && is_unit_of_bytes(after);
}

std::vector<Unit> units_of(std::string_view line) {
  std::vector<Unit> units;
  bool blank = false, in_code = false;
  char32_t before = 0;
  for (std::size_t at = 0; at < line.size();) {
    const Character c = next_character(line.substr(at));
    const std::string_view text = line.substr(at, c.bytes);
    at += c.bytes;
    if (c.code == '`') in_code = !in_code;
    if (c.code == ' ') {
      const bool glued = !units.empty() && is_glue(before, line.substr(at), in_code);
      if (glued) units.back().text += ' ';
      blank = !glued && before != 0;
      continue;
    }
    if (units.empty() || blank || may_break_between(before, c.code)) units.push_back({"", blank});
    units.back().text += text;
    blank = false;
    before = c.code;
  }
  return units;
}

void wrap_line(std::string_view line, std::size_t columns, std::vector<std::string>& lines) {
  std::string current;
  std::size_t used = 0;
  for (const Unit& unit : units_of(line)) {
    const std::size_t width = columns_of(unit.text);
    const std::size_t blank = unit.blank_before && !current.empty() ? 1 : 0;
    if (!current.empty() && used + blank + width > columns) {
      lines.push_back(std::move(current));
      current = unit.text;
      used = width;
      continue;
    }
    current += std::string(blank, ' ') + unit.text;
    used += blank + width;
  }
  lines.push_back(std::move(current));
}

}  // namespace

int columns_of(char32_t character) noexcept {
  if (is_in(kZero, character)) return 0;
  return is_in(kWide, character) ? 2 : 1;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character c = next_character(text.substr(at));
    columns += static_cast<std::size_t>(columns_of(c.code));
    at += c.bytes;
  }
  return columns;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  for (;;) {
    const std::size_t end = text.find('\n');
    wrap_line(text.substr(0, end), columns, lines);
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

std::string left(std::string_view text, std::size_t columns) {
  return std::string(text) + std::string(columns - std::min(columns, columns_of(text)), ' ');
}

std::string right(std::string_view text, std::size_t columns) {
  return std::string(columns - std::min(columns, columns_of(text)), ' ') + std::string(text);
}

std::string clean(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const Character c = next_character(text.substr(at));
    const bool control = c.code < 0x20 || (c.code >= 0x7F && c.code < 0xA0);
    if (control) {
      result += ' ';
    } else if (c.code == kReplacement) {
      result += "\xEF\xBF\xBD";
    } else {
      result += text.substr(at, c.bytes);
    }
    at += c.bytes;
  }
  return result;
}

}  // namespace snug::report
