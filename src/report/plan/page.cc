#include "report/plan/page.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "report/plan/page_data.h"
#include "report/web/page_template.h"

namespace snug {
namespace {

constexpr char kPage[] =
#include "report/plan/page/page.html.inc"
    ;
constexpr char kStyle[] =
#include "report/plan/page/style.css.inc"
    ;
constexpr char kModelScript[] =
#include "report/plan/page/model.js.inc"
    ;
constexpr char kChartScript[] =
#include "report/plan/page/chart.js.inc"
    ;
constexpr char kMarksScript[] =
#include "report/plan/page/marks.js.inc"
    ;
constexpr char kTableScript[] =
#include "report/plan/page/table.js.inc"
    ;
constexpr char kViewScript[] =
#include "report/plan/page/view.js.inc"
    ;

// What the page shows where scripts do not run.
std::string without_script(const PlanPage& page) {
  const std::int64_t total = page.settings.front().run->total_bytes();
  const bool fits = verdict_of(total, page.budget) != Verdict::kDoesNotFit;
  return fmt::format("{}: {} Needs {}, {} may be used. The picture needs JavaScript.", page.title,
                     fits ? "fits." : "does not fit.", format_bytes(total),
                     format_bytes(page.budget.usable_bytes));
}

}  // namespace

std::string plan_page(const PlanPage& page) {
  const PageValue values[] = {
      page_text("title", page.title),
      page_text("without_script", without_script(page)),
      page_markup("shared_style", std::string(shared_page_style())),
      page_markup("style", kStyle),
      page_markup("data", plan_page_data(page)),
      page_markup("model", kModelScript),
      page_markup("chart", kChartScript),
      page_markup("marks", kMarksScript),
      page_markup("table", kTableScript),
      page_markup("view", kViewScript),
  };
  return fill_page(kPage, values);
}

}  // namespace snug
