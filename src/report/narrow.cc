#include "report/narrow.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "report/columns.h"

namespace snug::report {
namespace {

// Of a row: its text, and the blanks before it.
struct Field {
  std::string text;
  std::size_t gap = 0;
};

std::string without_colours(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\033') {
      at = std::min(text.find('m', at), text.size() - 1) + 1;
    } else {
      plain += text[at++];
    }
  }
  return plain;
}

std::size_t shown_columns(std::string_view text) { return columns_of(without_colours(text)); }

// Of a bar of report::bar(): all eight lengths are of three bytes and begin alike.
constexpr std::size_t kCellBytes = 3;
bool is_bar(std::string_view text) {
  if (text.empty() || text.size() % kCellBytes != 0) return false;
  for (std::size_t at = 0; at < text.size(); at += kCellBytes) {
    const bool is_cell =
        text.substr(at, 2) == "\xE2\x96" && text[at + 2] >= '\x88' && text[at + 2] <= '\x8F';
    if (!is_cell) return false;
  }
  return true;
}

// Two blanks or more, and the line's beginning, part fields.
std::vector<Field> fields_of(std::string_view line) {
  std::vector<Field> fields;
  std::size_t gap = 0;
  for (const char c : line) {
    if (c == ' ') {
      ++gap;
      continue;
    }
    if (fields.empty() || gap >= 2) {
      fields.push_back({"", gap});
    } else {
      fields.back().text += std::string(gap, ' ');
    }
    gap = 0;
    fields.back().text += c;
  }
  return fields;
}

// Whether a row ends in a command or in arguments, perhaps after a word such as "with".
bool is_command(const std::vector<Field>& row) {
  if (row.empty()) return false;
  const std::string text = without_colours(row.back().text);
  if (text.starts_with("snug ") || text.starts_with("--") || text.ends_with("\\")) return true;
  constexpr std::size_t kWordBytes = 12;
  return text.find(" --") <= kWordBytes && text.find('=') != text.npos;
}

// The share of its cells that every bar keeps, so that the longest ends within the columns; 0 when
// nothing worth showing would be left.
double bar_share(const std::vector<std::vector<Field>>& rows, std::size_t columns) {
  constexpr double kFewestCells = 4;
  double share = 1;
  for (const std::vector<Field>& row : rows) {
    std::size_t start = 0;
    for (const Field& field : row) {
      start += field.gap;
      const auto cells = static_cast<double>(shown_columns(field.text));
      const double room = static_cast<double>(columns) - static_cast<double>(start);
      if (is_bar(field.text) && cells > room) {
        share = std::min(share, room >= kFewestCells ? room / cells : 0);
      }
      start += shown_columns(field.text);
    }
  }
  return share;
}

void shorten_bars(std::vector<Field>& row, double share) {
  for (Field& field : row) {
    if (!is_bar(field.text)) continue;
    const auto cells = static_cast<double>(field.text.size() / kCellBytes);
    const auto kept = static_cast<std::size_t>(std::max(std::round(cells * share), 1.0));
    field.text.resize(share > 0 ? std::min(kept * kCellBytes, field.text.size()) : 0);
  }
  std::erase_if(row, [](const Field& field) { return field.text.empty(); });
}

// "  --lang=LANG   en, zh, ja or de": the sentence in a column of its own.
std::string beside_label(const Field& label, const Field& sentence, std::size_t columns) {
  const std::string first =
      std::string(label.gap, ' ') + label.text + std::string(sentence.gap, ' ');
  const std::size_t start = shown_columns(first);
  std::string text = first;
  for (const std::string& line : wrapped(sentence.text, columns - start)) {
    if (text.size() > first.size()) text += "\n" + std::string(start, ' ');
    text += line;
  }
  return text;
}

bool is_amount(std::string_view text) {
  return !text.empty() && text.front() >= '0' && text.front() <= '9' && text.ends_with('B');
}

// Of a field, and of the amount behind it that it names.
std::size_t columns_with_amount(const std::vector<Field>& row, std::size_t at) {
  const std::size_t width = shown_columns(row[at].text);
  const bool names = at + 1 < row.size() && !is_amount(row[at].text) && is_amount(row[at + 1].text);
  return names ? width + row[at + 1].gap + shown_columns(row[at + 1].text) : width;
}

// The fields at their places as far as there is room; the others in lines of their own.
std::string in_turn(const std::vector<Field>& row, std::size_t columns) {
  const std::size_t indent = std::min(row.front().gap, columns / 4);
  const std::size_t under = row.size() > 1 ? indent + 2 : indent;
  std::string text(indent, ' ');
  std::size_t used = indent;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const Field& field = row[i];
    const std::size_t gap = i == 0 ? 0 : field.gap;
    if (used + gap + columns_with_amount(row, i) <= columns) {
      text += std::string(gap, ' ') + field.text;
      used += gap + shown_columns(field.text);
      continue;
    }
    const bool is_plain = field.text.find('\033') == std::string::npos;
    const std::vector<std::string> lines =
        is_plain ? wrapped(field.text, columns - under) : std::vector{field.text};
    for (std::size_t n = 0; n < lines.size(); ++n) {
      const bool begins = i == 0 && n == 0;
      if (!begins) text += "\n" + std::string(under, ' ');
      text += lines[n];
      used = (begins ? indent : under) + shown_columns(lines[n]);
    }
  }
  return text;
}

std::string laid_out(const std::vector<Field>& row, std::size_t columns) {
  const bool is_pair = row.size() == 2 && row[1].text.find('\033') == std::string::npos;
  if (is_pair && 2 * (row[0].gap + shown_columns(row[0].text) + row[1].gap) <= columns) {
    return beside_label(row[0], row[1], columns);
  }
  return in_turn(row, columns);
}

}  // namespace

std::string narrowed(std::string_view text, std::size_t columns) {
  constexpr std::size_t kNarrowest = 16;  // below this no layout is readable
  columns = std::max(columns, kNarrowest);
  std::vector<std::string_view> lines;
  std::vector<std::vector<Field>> rows;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    rows.push_back(fields_of(lines.back()));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const double share = bar_share(rows, columns);
  std::string result;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool has_bar = share < 1 && std::ranges::any_of(rows[i], [](const Field& field) {
                           return is_bar(field.text);
                         });
    if (has_bar) shorten_bars(rows[i], share);
    std::string line(lines[i]);
    if (has_bar) {
      line.clear();
      for (const Field& field : rows[i]) line += std::string(field.gap, ' ') + field.text;
    }
    const bool fits = shown_columns(line) <= columns || is_command(rows[i]);
    result += (fits ? line : laid_out(rows[i], columns)) + "\n";
  }
  return result;
}

}  // namespace snug::report
