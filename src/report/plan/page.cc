#include "report/plan/page.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "report/plan/page_parts.h"
#include "report/text.h"

namespace snug {
namespace {

// What is left to say where scripts do not run.
std::string without_script(const PlanPage& page) {
  const std::int64_t total = page.settings.front().run->total_bytes();
  const bool fits = verdict_of(total, page.budget) != Verdict::kDoesNotFit;
  return fmt::format("{}: {} Needs {}, {} may be used. The picture needs JavaScript.", page.title,
                     fits ? "fits." : "does not fit.", format_bytes(total),
                     format_bytes(page.budget.usable_bytes));
}

}  // namespace

std::string plan_page(const PlanPage& page) {
  // The policy forbids the page to ask for anything: what it shows is in the file.
  std::string html = fmt::format(
      "<!DOCTYPE html>\n"
      "<html lang=\"en\">\n"
      "<head>\n"
      "<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{}</title>\n",
      escape_html(page.title));
  html += fmt::format("<style>{}</style>\n</head>\n<body>\n", kPageStyle);
  html += fmt::format("<noscript><p>{}</p></noscript>\n", escape_html(without_script(page)));
  html += kPageBody;
  html += fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n",
                      plan_page_data(page));
  html += "<script>\n(() => {\n'use strict';\n";
  for (const std::string_view part : {kPageModel, kPageChart, kPageMarks, kPageTable, kPageView})
    html += part;
  html += "})();\n</script>\n</body>\n</html>\n";
  return html;
}

}  // namespace snug
