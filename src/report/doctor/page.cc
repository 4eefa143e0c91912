// The report as one HTML page: the same content as the text, with bars for what held the card.
#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "report/columns.h"
#include "report/doctor/content.h"
#include "report/doctor/rendering.h"
#include "report/doctor/report.h"
#include "report/numbers.h"
#include "report/text.h"
#include "report/web/page_template.h"

namespace snug::report {
namespace {

constexpr char kPage[] =
#include "report/doctor/page/page.html.inc"
    ;
constexpr char kStyle[] =
#include "report/doctor/page/style.css.inc"
    ;

constexpr std::string_view kToneNames[] = {"plain", "good", "warn", "bad"};

// Bytes that are no UTF-8 are replaced.
std::string escaped(std::string_view text) { return escape_html(clean(text)); }

// A text whose lines are paragraphs.
std::string paragraphs(std::string_view text) {
  std::string html;
  for (;;) {
    const std::size_t end = text.find('\n');
    html += fmt::format("<p>{}</p>", escaped(text.substr(0, end)));
    if (end == std::string_view::npos) return html;
    text.remove_prefix(end + 1);
  }
}

std::string under(const std::vector<std::string>& lines) {
  std::string html;
  for (const std::string& line : lines) {
    html += fmt::format("<p class=\"under\">{}</p>\n", escaped(line));
  }
  return html;
}

std::string block_html(const DoctorFacts& block) {
  const bool is_last = block.facts.back().is_command;
  std::string html = fmt::format("<dl class=\"facts{}\">\n", is_last ? " last" : "");
  for (const DoctorFact& fact : block.facts) {
    html += fmt::format("<dt>{}</dt><dd>", escaped(fact.label));
    if (fact.is_command) {
      const std::string command = fmt::format("{}", fmt::join(fact.lines, " "));
      html += fmt::format("<p><code>{}</code></p>", escaped(command));
    } else {
      for (const std::string& line : fact.lines) html += fmt::format("<p>{}</p>", escaped(line));
    }
    html += "</dd>\n";
  }
  return html + "</dl>\n";
}

double percent(std::int64_t bytes, std::int64_t whole) {
  return whole <= 0 ? 0 : 100 * static_cast<double>(bytes) / static_cast<double>(whole);
}

std::string band_of(const DoctorBar& bar) {
  if (bar.is_free || bar.band == Band::kUnknown) return "--band: var(--line)";
  return fmt::format("--band: var(--band-{})", static_cast<int>(bar.band));
}

// The last row is the whole; a part's band keeps its colour in the legend.
std::string block_html(const DoctorBars& block) {
  std::string stack, rows;
  for (std::size_t i = 0; i < block.bars.size(); ++i) {
    const DoctorBar& bar = block.bars[i];
    const double share = percent(bar.bytes, block.whole_bytes);
    const bool is_total = i + 1 == block.bars.size();
    const std::string label = escaped(bar.label), bytes = bytes_in(block.language, bar.bytes);
    const std::string band = band_of(bar);
    if (!is_total) {
      stack += fmt::format("<i style=\"width:{:.3f}%;{}\" title=\"{} {}\"></i>", share, band, label,
                           bytes);
    }
    rows += is_total ? fmt::format(
                           "<tr class=\"total\"><th scope=\"row\">{}</th><td>{}</td>"
                           "<td class=\"share\"></td></tr>\n",
                           label, bytes)
                     : fmt::format(
                           "<tr><th scope=\"row\"><span class=\"swatch\" style=\"{}\"></span>{}"
                           "</th><td>{}</td><td class=\"share\">{}</td></tr>\n",
                           band, label, bytes, percent_in(block.language, share, 1));
  }
  return fmt::format(
      "<h2>{}</h2>\n<div class=\"stack\" role=\"img\" aria-label=\"{}\">{}</div>\n"
      "<table class=\"parts\"><tbody>\n{}</tbody></table>\n{}",
      escaped(block.title), escaped(block.title), stack, rows, under(block.lines));
}

std::string block_html(const DoctorPoints& block) {
  std::string html = fmt::format("<h2>{}</h2>\n<ul class=\"points\">\n", escaped(block.title));
  for (const std::string& point : block.points) {
    html += fmt::format("<li>{}</li>\n", paragraphs(point));
  }
  return html + "</ul>\n";
}

std::string row_html(const DoctorTable& table, const DoctorRow& row) {
  std::string html =
      fmt::format("<tr data-tone=\"{}\">", kToneNames[static_cast<std::size_t>(row.mark)]);
  if (table.has_marks) {
    html += fmt::format("<td class=\"mark\">{}</td>", row.mark == Tone::kGood  ? "✓"
                                                      : row.mark == Tone::kBad ? "✕"
                                                                               : "·");
  }
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    const DoctorColumn& column = table.columns[i];
    html += i == 0 ? fmt::format("<th scope=\"row\" class=\"name\">{}</th>", escaped(row.cells[i]))
                   : fmt::format("<td{} data-label=\"{}\">{}</td>",
                                 column.is_number ? " class=\"number\"" : "",
                                 escaped(column.heading), escaped(row.cells[i]));
  }
  return html + "</tr>\n";
}

std::string block_html(const DoctorTable& block) {
  std::string html =
      fmt::format("<h2>{}</h2>\n<div class=\"scroll\"><table class=\"grid{}\">\n<thead><tr>{}",
                  escaped(block.title), block.has_marks ? " fixes-grid" : "",
                  block.has_marks ? "<th></th>" : "");
  for (const DoctorColumn& column : block.columns) {
    html += fmt::format("<th scope=\"col\"{}>{}</th>", column.is_number ? " class=\"number\"" : "",
                        escaped(column.heading));
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const DoctorRow& row : block.rows) html += row_html(block, row);
  return html + "</tbody></table></div>\n" + under(block.lines);
}

std::string block_html(const DoctorCode& block) {
  std::string html = fmt::format("<h2>{}</h2>\n", escaped(block.title));
  if (!block.note.empty()) html += fmt::format("<p>{}</p>\n", escaped(block.note));
  if (block.code.empty()) return html;
  html += "<pre>";
  for (const std::string& line : block.code) {
    const char* kind = line.starts_with("+ ") ? "plus" : line.starts_with("- ") ? "minus" : "plain";
    html += fmt::format("<span class=\"{}\">{}</span>\n", kind, escaped(line));
  }
  return html + "</pre>\n";
}

}  // namespace

std::string with_kept_units(std::string text) {
  for (const std::string_view unit : {" KiB", " MiB", " GiB", " TiB"}) {
    for (std::size_t at = text.find(unit); at != std::string::npos; at = text.find(unit, at + 1)) {
      const bool follows_number = at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9';
      if (follows_number) text.replace(at, 1, "\u00A0");
    }
  }
  return text;
}

std::string sections_html(const std::vector<DoctorBlock>& blocks) {
  std::string html;
  for (const DoctorBlock& block : blocks) {
    html += fmt::format("<section>\n{}</section>\n",
                        std::visit([](const auto& b) { return block_html(b); }, block));
  }
  return html;
}

std::string_view name_of(Tone tone) noexcept { return kToneNames[static_cast<std::size_t>(tone)]; }

std::string doctor_page(const DoctorReport& report) {
  const DoctorContent content = doctor_content(report);
  const std::string why = content.explanation.empty() ? ""
                                                      : fmt::format("<p class=\"why\">{}</p>\n",
                                                                    escaped(content.explanation));
  const PageValue values[] = {
      page_text("language", html_lang_of(report.language)),
      page_text("program", clean(text_in(report.language, TextId::kPageTitle))),
      page_text("headline", with_kept_units(clean(content.headline))),
      page_text("tone", kToneNames[static_cast<std::size_t>(content.tone)]),
      page_markup("shared_style", std::string(shared_page_style())),
      page_markup("style", kStyle),
      page_markup("explanation", why),
      page_markup("sections", sections_html(content.blocks)),
  };
  return fill_page(kPage, values);
}

}  // namespace snug::report
