// The report as text, eighty columns wide.
#include "report/doctor/report.h"
#include "report/doctor/rendering.h"
#include "report/numbers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/own_colour.h"
#include "config/diagnostic.h"
#include "report/columns.h"
#include "report/doctor/content.h"
#include "report/shell_command.h"
#include "report/text.h"

namespace snug::report {
namespace {

constexpr std::size_t kWidth = 80, kIndent = 2;
constexpr std::size_t kFactColumn = 20;  // where facts begin: the longest label and two blanks
constexpr std::size_t kBarLabel = 30, kBarCells = 30;

class TextWriter {
 public:
  explicit TextWriter(bool color) : color_(color) {}

  void operator()(const DoctorFacts& facts);
  void operator()(const DoctorBars& bars);
  void operator()(const DoctorPoints& points);
  void operator()(const DoctorTable& table);
  void operator()(const DoctorCode& block);

  void headline(const DoctorContent& content);
  std::string take() { return std::move(text_); }

 private:
  void line(std::size_t indent, std::string_view content);
  void paragraph(std::size_t indent, std::string_view content, const char* code = nullptr);
  void title(std::string_view content) { paragraph(kIndent, content, "1"); }
  std::string paint(const char* code, std::string_view content) const;
  std::string mark(const DoctorTable& table, std::size_t row) const;
  void table_line(const DoctorTable& table, const std::string& mark,
                  const std::vector<std::string>& cells);

  std::string text_;
  bool color_;
};

// Free bytes are shown as "░░".
std::string bar_of(const DoctorBar& row, std::int64_t maximum) {
  const std::string full = bar(row.bytes, maximum, kBarCells);
  if (!row.is_free) return full;
  std::string text;
  for (std::size_t i = 0; i < config::column_count(full); ++i) text += "░";
  return text;
}

std::string TextWriter::paint(const char* code, std::string_view content) const {
  if (!color_ || code == nullptr) return std::string(content);
  return in_colour(code, content);
}

void TextWriter::line(std::size_t indent, std::string_view content) {
  std::string whole = std::string(indent, ' ') + std::string(content);
  whole.erase(whole.find_last_not_of(' ') + 1);
  text_ += whole + "\n";
}

void TextWriter::paragraph(std::size_t indent, std::string_view content, const char* code) {
  for (const std::string& part : wrapped(content, kWidth - indent)) line(indent, paint(code, part));
}

void TextWriter::headline(const DoctorContent& content) {
  constexpr const char* kCodes[] = {"1", "1;32", "1;33", "1;31"};
  text_ += "\n";
  paragraph(kIndent, content.headline, kCodes[static_cast<std::size_t>(content.tone)]);
  if (!content.explanation.empty()) paragraph(kIndent, content.explanation);
}

std::vector<std::string> lines_of(const DoctorFact& fact, std::size_t columns) {
  if (fact.is_command) return command_lines(fact.lines, columns);
  std::vector<std::string> lines;
  for (const std::string& text : fact.lines) {
    for (std::string& part : wrapped(text, columns)) lines.push_back(std::move(part));
  }
  return lines;
}

void TextWriter::operator()(const DoctorFacts& facts) {
  std::size_t label_columns = 0;
  for (const DoctorFact& fact : facts.facts) {
    label_columns = std::max(label_columns, columns_of(fact.label));
  }
  const std::size_t column = std::max<std::size_t>(kFactColumn, kIndent + label_columns + 2);
  for (const DoctorFact& fact : facts.facts) {
    std::string label = fact.label;
    for (const std::string& part : lines_of(fact, kWidth - column)) {
      const std::string padding(column - kIndent - columns_of(label), ' ');
      line(kIndent, fmt::format("{}{}{}", paint("1", label), padding, part));
      label.clear();
    }
  }
}

void TextWriter::operator()(const DoctorBars& bars) {
  title(bars.title);
  for (const DoctorBar& row : bars.bars) {
    const bool is_total = &row == &bars.bars.back();
    line(kIndent, fmt::format("{} {:>11}  {}", left(row.label, kBarLabel),
                              bytes_in(bars.language, row.bytes),
                              is_total ? "" : bar_of(row, bars.whole_bytes)));
  }
  for (const std::string& text : bars.lines) paragraph(kIndent, text);
}

void TextWriter::operator()(const DoctorPoints& points) {
  title(points.title);
  for (const std::string& point : points.points) {
    const char* bullet = "· ";
    for (const std::string& part : wrapped(point, kWidth - kIndent - 2)) {
      line(kIndent, bullet + part);
      bullet = "  ";
    }
  }
}

std::string TextWriter::mark(const DoctorTable& table, std::size_t row) const {
  const Tone tone = table.rows[row].mark;
  const std::string sign = tone == Tone::kGood  ? paint("32", "✔")
                           : tone == Tone::kBad ? paint("31", "✘")
                                                : std::string("·");
  return fmt::format("{} {:>2}  ", sign, row + 1);
}

void TextWriter::table_line(const DoctorTable& table, const std::string& mark,
                            const std::vector<std::string>& cells) {
  std::vector<std::vector<std::string>> columns;
  std::size_t height = 1;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    columns.push_back(wrapped(cells[i], table.columns[i].columns));
    height = std::max(height, columns.back().size());
  }
  for (std::size_t y = 0; y < height; ++y) {
    std::string whole = y == 0 ? mark : std::string(table.has_marks ? 6 : 0, ' ');
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string cell = y < columns[i].size() ? columns[i][y] : "";
      const DoctorColumn& column = table.columns[i];
      if (i > 0) whole += column.is_number ? " " : "  ";
      whole += column.is_number ? right(cell, column.columns) : left(cell, column.columns);
    }
    line(kIndent, whole);
  }
}

void TextWriter::operator()(const DoctorTable& table) {
  title(table.title);
  std::vector<std::string> headings;
  for (const DoctorColumn& column : table.columns) headings.push_back(column.heading);
  table_line(table, std::string(table.has_marks ? 6 : 0, ' '), headings);
  const std::size_t shown =
      table.rows_in_text == 0 ? table.rows.size() : std::min(table.rows_in_text, table.rows.size());
  for (std::size_t row = 0; row < shown; ++row) {
    table_line(table, table.has_marks ? mark(table, row) : "", table.rows[row].cells);
  }
  if (shown < table.rows.size()) line(kIndent + 6, table.more);
  for (const std::string& text : table.lines) paragraph(kIndent, text);
}

void TextWriter::operator()(const DoctorCode& block) {
  title(block.title);
  if (!block.note.empty()) paragraph(kIndent, block.note);
  for (const std::string& code : block.code) line(kIndent + 4, paint("36", code));
}

}  // namespace

DoctorReport doctor_report(const doctor::DoctorCase& c) {
  DoctorReport report;
  report.diagnosis = c.diagnosis;
  report.prediction = c.prediction;
  report.memory = c.memory ? &*c.memory : nullptr;
  report.fixes = c.fixes ? &*c.fixes : nullptr;
  report.card = c.card;
  report.card_bytes = c.card_bytes;
  report.need = c.need;
  report.proof = c.proof;
  return report;
}

std::string doctor_text(const DoctorReport& report) {
  return content_text(doctor_content(report), report.color);
}

std::string content_text(const DoctorContent& content, bool color) {
  TextWriter writer(color);
  writer.headline(content);
  std::string text = writer.take();
  for (const DoctorBlock& block : content.blocks) {
    TextWriter part(color);
    std::visit(part, block);
    text += "\n" + part.take();
  }
  return text;
}

}  // namespace snug::report
