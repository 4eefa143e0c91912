#include "report/plot/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "report/plot/loss_chart.h"
#include "report/web/page_template.h"

namespace snug::report {
namespace {

using metrics::Point;
using metrics::RunHistory;

constexpr char kPage[] =
#include "report/plot/page/plot.html.inc"
    ;
constexpr char kStyle[] =
#include "report/plot/page/plot.css.inc"
    ;
constexpr char kScript[] =
#include "report/plot/page/plot.js.inc"
    ;

constexpr std::size_t kReadoutPoints = 2000;

std::string escaped(std::string_view text) { return page_text("", text).html; }

std::string number(const std::vector<Point>& points) {
  return points.empty() ? "" : fmt::format("{:.4f}", points.back().value);
}

std::string row(const RunHistory& run, std::size_t index) {
  std::int64_t last = 0;
  for (const auto* points : {&run.loss, &run.val_loss}) {
    if (!points->empty())
      last = std::max(last, static_cast<std::int64_t>(points->back().iteration));
  }
  std::string best, rate;
  if (!run.val_loss.empty()) {
    const auto at =
        std::min_element(run.val_loss.begin(), run.val_loss.end(),
                         [](const Point& a, const Point& b) { return a.value < b.value; });
    best = fmt::format("{:.4f} at {}", at->value,
                       with_thousands(static_cast<std::int64_t>(at->iteration)));
  }
  if (!run.tokens_per_second.empty()) {
    rate = with_thousands(static_cast<std::int64_t>(run.tokens_per_second.back().value));
  }
  return fmt::format(
      "<tr><td><label><input type=\"checkbox\" checked data-run=\"{}\"><i style=\"background:{}\">"
      "</i>{}</label></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></"
      "tr>\n",
      index, run_color(index), escaped(run.name), with_thousands(last), number(run.loss),
      number(run.val_loss), best,
      run.entropy_floor ? fmt::format("{:.4f}", *run.entropy_floor) : "", rate);
}

// For the readout under the pointer. Safe inside of a script: no "<" in it.
std::string readout_data(std::span<const RunHistory> runs) {
  auto data = nlohmann::json::array();
  const auto pairs = [](const std::vector<Point>& points) {
    auto list = nlohmann::json::array();
    for (const Point& point : thinned(points, kReadoutPoints)) {
      list.push_back({point.iteration, point.value});
    }
    return list;
  };
  for (const RunHistory& run : runs) {
    data.push_back({{"name", run.name}, {"loss", pairs(run.loss)}, {"val", pairs(run.val_loss)}});
  }
  return data.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string plot_page(std::span<const RunHistory> runs) {
  std::string rows, title;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    rows += row(runs[i], i);
    title += (i == 0 ? "" : ", ") + runs[i].name;
  }
  const PageValue values[] = {
      page_text("title", title),      page_markup("shared_style", std::string(shared_page_style())),
      page_markup("style", kStyle),   page_markup("chart", loss_chart(runs)),
      page_markup("rows", rows),      page_json("data", readout_data(runs)),
      page_markup("script", kScript),
  };
  return fill_page(kPage, values);
}

}  // namespace snug::report
