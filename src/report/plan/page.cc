#include "report/plan/page.h"

#include "report/catalogue/plan_texts.h"
#include "report/numbers.h"
#include "report/plan/page_data.h"
#include "report/web/page_template.h"

namespace snug::report {
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
  const bool fits = fit::verdict_of(total, page.budget) != fit::Verdict::kDoesNotFit;
  return text_in(
      page.language, PlanTextId::kPageNeedsScript,
      {page.title, text_in(page.language, fits ? PlanTextId::kFits : PlanTextId::kDoesNotFit),
       bytes_in(page.language, total), bytes_in(page.language, page.budget.usable_bytes)});
}

}  // namespace

std::string plan_page(const PlanPage& page) {
  const auto word = [&](std::string_view name, PlanTextId id) {
    return page_text(name, text_in(page.language, id));
  };
  const PageValue values[] = {
      page_text("language", html_lang_of(page.language)),
      word("brow", PlanTextId::kPageBrow),
      word("copy", PlanTextId::kPageCopy),
      word("recommended", PlanTextId::kPageRecommended),
      word("budget_title", PlanTextId::kPageBudgetTitle),
      word("picture", PlanTextId::kPagePicture),
      word("setting", PlanTextId::kPageSetting),
      word("chart_label", PlanTextId::kPageChart),
      word("caption", PlanTextId::kPageCaption),
      word("alive", PlanTextId::kPageAlive),
      word("by_role", PlanTextId::kPageByRole),
      word("fixes_title", page.fits_as_is ? PlanTextId::kSpareTitle : PlanTextId::kFixesTitle),
      word("head_memory", PlanTextId::kPageMemory),
      word("head_batch", PlanTextId::kPageBatch),
      word("head_saved", PlanTextId::kPageSaved),
      word("head_time", PlanTextId::kPageTimeHead),
      word("head_speed", PlanTextId::kPageSpeed),
      word("head_result", PlanTextId::kPageResult),
      word("head_fits", PlanTextId::kPageFitsHead),
      page_text("title", page.title),
      page_text("without_script", without_script(page)),
      page_markup("shared_style", std::string(shared_page_style())),
      page_markup("style", kStyle),
      page_json("data", plan_page_data(page)),
      page_markup("model", kModelScript),
      page_markup("chart", kChartScript),
      page_markup("marks", kMarksScript),
      page_markup("table", kTableScript),
      page_markup("view", kViewScript),
  };
  return fill_page(kPage, values);
}

}  // namespace snug::report
