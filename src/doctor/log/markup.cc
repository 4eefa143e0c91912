#include "doctor/log/markup.h"

#include <algorithm>
#include <charconv>

namespace snug::doctor::log {
namespace {

struct Reference {
  std::string_view name;
  char text;
};
constexpr Reference kReferences[] = {
    {"&nbsp;", ' '}, {"&gt;", '>'},    {"&lt;", '<'},     {"&amp;", '&'},
    {"&quot;", '"'}, {"&apos;", '\''}, {"\xC2\xA0", ' '},  // a space that does not break, as
                                                           // browsers copy it
};
constexpr std::string_view kBegins = "&<\xC2";
constexpr std::string_view kTags[] = {"p",  "br", "span", "div", "code", "pre", "b",  "i",
                                      "em", "td", "tr",   "li",  "ul",   "a",   "hr", "strong"};
constexpr std::size_t kMaxTagBytes = 300;  // with its attributes

// The length of the tag that begins here; 0: none does.
std::size_t tag_length(std::string_view text) {
  std::size_t at = text.starts_with("</") ? 2 : 1;
  const auto is_letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
  const std::size_t begin = at;
  while (at < text.size() && is_letter(text[at])) ++at;
  std::string name(text.substr(begin, at - begin));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return static_cast<char>(c | 0x20); });
  if (std::find(std::begin(kTags), std::end(kTags), name) == std::end(kTags)) return 0;
  const bool ends = at < text.size() && (text[at] == '>' || text[at] == ' ' || text[at] == '/');
  const std::size_t end = ends ? text.substr(0, kMaxTagBytes).find('>', at) : text.npos;
  return end == text.npos ? 0 : end + 1;
}

struct Plain {
  std::size_t length = 0;  // of the reference; 0: none begins here
  char text = ' ';
};

// "&#39;" or "&#x27;": a character of ASCII, or the space that does not break.
Plain numbered_at(std::string_view text) {
  constexpr int kNoBreakSpace = 0xA0;
  if (!text.starts_with("&#") || text.size() < 4) return {};
  const bool is_hex = (text[2] | 0x20) == 'x';
  const char* const begin = text.data() + (is_hex ? 3 : 2);
  int code = 0;
  const auto end = std::from_chars(begin, text.data() + text.size(), code, is_hex ? 16 : 10);
  const bool is_closed = end.ptr != text.data() + text.size() && *end.ptr == ';';
  const bool is_known = (code >= ' ' && code < 0x7F) || code == kNoBreakSpace;
  if (end.ec != std::errc{} || !is_closed || !is_known) return {};
  return {static_cast<std::size_t>(end.ptr - text.data()) + 1,
          code == kNoBreakSpace ? ' ' : static_cast<char>(code)};
}

Plain reference_at(std::string_view text) {
  const auto found = std::find_if(std::begin(kReferences), std::end(kReferences),
                                  [&](const Reference& r) { return text.starts_with(r.name); });
  if (found == std::end(kReferences)) return numbered_at(text);
  return {found->name.size(), found->text};
}

}  // namespace

bool has_markup(std::string_view line) {
  for (std::size_t at = line.find_first_of(kBegins); at != line.npos;
       at = line.find_first_of(kBegins, at + 1)) {
    const std::string_view rest = line.substr(at);
    if (rest[0] == '<' ? tag_length(rest) > 0 : reference_at(rest).length > 0) return true;
  }
  return false;
}

std::string without_markup(std::string_view line) {
  std::string plain;
  for (std::size_t at = 0; at < line.size();) {
    const std::string_view rest = line.substr(at);
    const bool may_refer = rest[0] == '&' || rest[0] == '\xC2';
    const Plain reference = may_refer ? reference_at(rest) : Plain();
    const std::size_t tag = rest[0] == '<' ? tag_length(rest) : 0;
    if (reference.length > 0) {
      plain += reference.text;
      at += reference.length;
    } else if (tag > 0) {
      plain += ' ';
      at += tag;
    } else {
      plain += rest[0];
      ++at;
    }
  }
  return plain;
}

}  // namespace snug::doctor::log
