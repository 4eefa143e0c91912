#include "doctor/log/prefix.h"

#include <algorithm>
#include <array>

#include "doctor/log/amount.h"
#include "doctor/log/text.h"

namespace snug::doctor::log {
namespace {

// U+2500 to U+257F, the box drawing characters, are E2 94 80 to E2 95 BF in UTF-8.
std::size_t border_length(std::string_view text) {
  if (text.starts_with('|')) return 1;
  const bool is_box =
      text.size() >= 3 && text[0] == '\xE2' && (text[1] == '\x94' || text[1] == '\x95');
  return is_box ? 3 : 0;
}

// Digits and these marks only, at least one of each: a date, a time, both joined by T, a zone.
std::size_t timestamp_length(std::string_view text) {
  std::size_t end = 0;
  std::size_t digits = 0, marks = 0;
  for (; end < text.size() && end < 40; ++end) {
    const char c = text[end];
    if (is_digit(c)) {
      ++digits;
    } else if (c == ':' || c == '-' || c == '/' || c == '+' || (c == 'T' && marks == 2) ||
               c == 'Z') {
      ++marks;
    } else if (c != '.' && c != ',') {
      break;
    }
  }
  const bool ends = end == text.size() || text[end] == ' ' || text[end] == ']';
  return ends && digits >= 4 && marks >= 1 ? end : 0;
}

// One word of a timestamp; "2024-09-28" and "16:57:34,932" are two.
bool take_timestamp(std::string_view& text) {
  const std::string_view body = trimmed(text);
  const std::size_t length = timestamp_length(body);
  // "34.5" has no mark and "-1" no four digits; "1024:" would be a label, which take_label takes.
  if (length == 0 || body[length - 1] == ':') return false;
  text = body.substr(length);
  take(text, " ");
  return true;
}

constexpr std::array<std::string_view, 9> kLevels{"ERROR",    "INFO",  "WARNING", "WARN",  "DEBUG",
                                                  "CRITICAL", "FATAL", "stderr",  "stdout"};

bool take_level(std::string_view& text) {
  const std::string_view body = trimmed(text);
  for (const std::string_view level : kLevels) {
    if (!body.starts_with(level) || body.size() == level.size()) continue;
    const char after = body[level.size()];
    if (after != ' ' && after != ':') continue;
    text = body.substr(level.size() + 1);
    take(text, " ");
    return true;
  }
  return false;
}

// "rank0", "default3", "trainer1".
std::optional<int> rank_in(std::string_view text) {
  for (const std::string_view name : {"rank", "default", "trainer"}) {
    std::string_view rest = text;
    if (!take(rest, name) || rest.empty() || rest.size() > 5) continue;
    if (!std::all_of(rest.begin(), rest.end(), is_digit)) continue;
    std::size_t at = 0;
    return static_cast<int>(parse_count(rest, at).value_or(0));
  }
  return std::nullopt;
}

bool is_log_bracket(std::string_view inside) {
  if (inside.empty()) return false;
  if (is_digit(inside.front()) || inside.front() == ' ') return true;
  if (inside.find(".py:") != std::string_view::npos) return true;
  return std::find(kLevels.begin(), kLevels.end(), inside) != kLevels.end();
}

// "[rank0]:", "[2024-09-28 16:57:34,932]", "[ERROR]", "[launch.py:325:main]", "[1,0]<stderr>:".
bool take_bracket(std::string_view& text, std::optional<int>& rank) {
  constexpr std::size_t kMaxBracket = 64;
  const std::string_view body = trimmed(text);
  if (!body.starts_with('[')) return false;
  const std::size_t close = body.substr(0, kMaxBracket).find(']');
  if (close == std::string_view::npos) return false;
  const std::string_view inside = body.substr(1, close - 1);
  const std::optional<int> found = rank_in(inside);
  if (!found && !is_log_bracket(inside)) return false;
  if (found) rank = found;
  text = body.substr(close + 1);
  if (!take(text, "<stderr>")) take(text, "<stdout>");
  take(text, ":");
  take(text, " ");
  return true;
}

// "(RayTrainWorker pid=123, ip=10.0.0.1) ".
bool take_worker(std::string_view& text) {
  constexpr std::size_t kMaxWorker = 80;
  if (!text.starts_with('(')) return false;
  const std::size_t close = text.substr(0, kMaxWorker).find(')');
  if (close == std::string_view::npos) return false;
  if (text.substr(0, close).find("pid=") == std::string_view::npos) return false;
  text.remove_prefix(close + 1);
  take(text, " ");
  return true;
}

// "0: " of srun, "12:" of grep -n, "rank0: ", pytest's "E   ", docker's {"log":".
bool take_label(std::string_view& text, std::optional<int>& rank) {
  const std::string_view body = trimmed(text);
  std::size_t digits = 0;
  while (digits < body.size() && digits < 8 && is_digit(body[digits])) ++digits;
  if (digits > 0 && digits < body.size() && body[digits] == ':') {
    if (digits + 1 < body.size() && is_digit(body[digits + 1])) return false;
    text = body.substr(digits + 1);
    take(text, " ");
    return true;
  }
  if (take(text, "E   ")) return true;
  if (take(text, R"({"log":")")) {
    text = text.substr(0, text.find(R"(\n","stream)"));
    return true;
  }
  if (!body.starts_with("rank")) return false;
  const std::size_t colon = body.find(": ");
  const std::optional<int> found =
      colon == std::string_view::npos ? std::nullopt : rank_in(body.substr(0, colon));
  if (!found) return false;
  rank = found;
  text = body.substr(colon + 2);
  return true;
}

// Compose's "train-1  | ".
bool take_compose_name(std::string_view& text) {
  constexpr std::size_t kMaxPrefix = 40;
  const std::size_t bar = text.substr(0, kMaxPrefix).find('|');
  if (bar == std::string_view::npos || bar == 0 || text[bar - 1] != ' ') return false;
  const std::string_view name = trimmed(text.substr(0, bar));
  const bool is_name = name.find(' ') == std::string_view::npos &&
                       std::any_of(name.begin(), name.end(), is_digit) &&
                       name.find_first_of("-_") != std::string_view::npos;
  if (!is_name) return false;
  text.remove_prefix(bar + 1);
  take(text, " ");
  return true;
}

std::string_view without_end_borders(std::string_view text) {
  while (true) {
    std::size_t end = text.size();
    while (end > 0 && is_blank(text[end - 1])) --end;
    const std::size_t box = end < 3 ? 0 : border_length(text.substr(end - 3, 3));
    const bool ends_in_bar = end > 0 && text[end - 1] == '|';
    if (!ends_in_bar && box != 3) return text;
    text = text.substr(0, end - (ends_in_bar ? 1 : 3));
  }
}

bool take_quote_or_border(std::string_view& text, LogLine& line) {
  const std::string_view body = trimmed(text);
  if (body.starts_with('>')) {
    text = body.substr(1);
    take(text, " ");
    return true;
  }
  const std::size_t length = border_length(body);
  if (length == 0) return false;
  line.has_border = true;
  text = without_end_borders(body.substr(length));
  take(text, " ");
  return true;
}

// "❱ 339 │", "--> 12 ", "  12\t" and, with a number that counts on, "  12 text".
bool take_gutter(std::string_view& text, LogLine& line, bool counts_on) {
  std::string_view body = trimmed(text);
  bool has_marker = take(body, "\xE2\x9D\xB1");
  const std::size_t dashes = std::min(body.find_first_not_of('-'), body.size());
  if (dashes >= 1 && dashes < body.size() && body[dashes] == '>') {
    body.remove_prefix(dashes + 1);
    has_marker = true;
  }
  while (body.starts_with(' ')) body.remove_prefix(1);
  std::size_t at = 0;
  while (at < body.size() && at < 8 && is_digit(body[at])) ++at;
  if (at == 0) return false;
  std::size_t position = 0;
  const std::int64_t number = parse_count(body.substr(0, at), position).value_or(0);
  const std::string_view rest = body.substr(at);
  const bool is_parted = rest.starts_with('\t') || border_length(trimmed(rest)) > 0;
  const bool is_gutter = has_marker || is_parted || (counts_on && rest.starts_with(' '));
  if (!is_gutter || line.gutter > 0) return false;
  line.gutter = number;
  line.has_marker = has_marker;
  line.is_source = has_marker || line.has_border;
  text = rest;
  if (!take(text, "\t")) take(text, " ");
  return true;
}

// Most lines start with none of these and are done after one look.
bool may_have_prefix(char first) {
  return !is_letter(first) || std::string_view("CDEFIWrs").find(first) != std::string_view::npos;
}

}  // namespace

LogLine PrefixStripper::strip(const RawLine& raw) {
  LogLine line;
  line.text = raw.text;
  line.number = raw.number;
  line.is_continued = raw.is_continued;
  if (raw.is_continued || raw.text.empty()) return line;
  std::size_t first = raw.text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return line;
  std::size_t end = first;
  const std::int64_t number = parse_count(raw.text.substr(0, first + 8), end).value_or(-1);
  const bool counts_on = number > 0 && number == last_number_ + 1;
  last_number_ = number;
  std::string_view text = raw.text;
  for (int rounds = 0; rounds < 8 && !text.empty(); ++rounds) {
    first = std::min(text.find_first_not_of(" \t"), text.size() - 1);
    if (!may_have_prefix(text[first])) break;
    const bool took = take_bracket(text, line.rank) || take_worker(text) || take_timestamp(text) ||
                      take_level(text) || take_gutter(text, line, counts_on) ||
                      take_label(text, line.rank) || take_quote_or_border(text, line);
    if (!took) break;
  }
  if (!text.empty() && is_letter(text.front())) take_compose_name(text);
  if (line.has_border || line.rank || line.gutter > 0) {
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  }
  line.text = text;
  return line;
}

}  // namespace snug::doctor::log
