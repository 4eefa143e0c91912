#include "doctor/log/markup.h"

#include <algorithm>

namespace snug::doctor::log {
namespace {

struct Reference {
  std::string_view name, text;
};
constexpr Reference kReferences[] = {
    {"&nbsp;", " "}, {"&#160;", " "}, {"&#xa0;", " "},  {"&gt;", ">"},
    {"&lt;", "<"},   {"&amp;", "&"},  {"&quot;", "\""}, {"&#34;", "\""},
    {"&#39;", "'"},  {"&#x27;", "'"}, {"&apos;", "'"},
};
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

const Reference* reference_at(std::string_view text) {
  const auto found = std::find_if(std::begin(kReferences), std::end(kReferences),
                                  [&](const Reference& r) { return text.starts_with(r.name); });
  return found == std::end(kReferences) ? nullptr : found;
}

}  // namespace

bool has_markup(std::string_view line) {
  for (std::size_t at = line.find_first_of("&<"); at != line.npos;
       at = line.find_first_of("&<", at + 1)) {
    const std::string_view rest = line.substr(at);
    if (rest[0] == '&' ? reference_at(rest) != nullptr : tag_length(rest) > 0) return true;
  }
  return false;
}

std::string without_markup(std::string_view line) {
  std::string plain;
  for (std::size_t at = 0; at < line.size();) {
    const std::string_view rest = line.substr(at);
    const Reference* const reference = rest[0] == '&' ? reference_at(rest) : nullptr;
    const std::size_t tag = rest[0] == '<' ? tag_length(rest) : 0;
    if (reference != nullptr) {
      plain += reference->text;
      at += reference->name.size();
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
