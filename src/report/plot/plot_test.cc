#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/test_directory.h"
#include "report/plot/loss_chart.h"
#include "report/plot/page.h"
#include "report/plot/scale.h"

namespace snug::report {
namespace {

using metrics::Point;
using metrics::RunHistory;

RunHistory run_of(const std::string& name, double start, int iterations) {
  RunHistory run;
  run.name = name;
  for (int i = 0; i < iterations; ++i) {
    const double loss = start / (1 + i * 0.01);
    run.loss.push_back({static_cast<double>(i), loss});
    if (i % 50 == 0) run.val_loss.push_back({static_cast<double>(i), loss + 0.1});
  }
  return run;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

TEST(Axis, TicksAreRoundAndWithin) {
  const Axis axis = make_axis(0.19, 4.3, 500, 0, 7);
  EXPECT_EQ(axis.step, 1.0);
  EXPECT_EQ(axis.ticks, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_DOUBLE_EQ(axis.at(0.19), 500);
  EXPECT_DOUBLE_EQ(axis.at(4.3), 0);
  EXPECT_EQ(tick_text(20000, 5000), "20,000");
  EXPECT_EQ(tick_text(0.25, 0.05), "0.25");
}

TEST(Axis, AnyRangeHasAnEnd) {
  for (const double low : {0.0, 1.0, -1e18, 1e17, 1e-300, 123456.789}) {
    for (const double width : {0.0, 1e-300, 1e-12, 1.0, 1e18}) {
      const Axis axis = make_axis(low, low + width, 0, 100, 7);
      EXPECT_LE(axis.ticks.size(), 15u) << low << " " << width;
      EXPECT_TRUE(std::isfinite(axis.at(low))) << low << " " << width;
    }
  }
}

TEST(LossChart, ThinnedKeepsTheMean) {
  std::vector<Point> points;
  for (int i = 0; i < 10'000; ++i)
    points.push_back({static_cast<double>(i), i % 2 == 0 ? 1.0 : 3.0});
  const auto fewer = thinned(points, 100);
  ASSERT_EQ(fewer.size(), 100u);
  for (const Point& point : fewer) EXPECT_NEAR(point.value, 2.0, 1e-9);
  EXPECT_NEAR(fewer.front().iteration, 49.5, 1e-9);
}

TEST(LossChart, DrawsEachRunAndTheFloor) {
  RunHistory first = run_of("out-a", 4, 300), second = run_of("out-b", 3, 200);
  first.entropy_floor = 0.19;
  const RunHistory runs[] = {first, second};
  const std::string svg = loss_chart(runs);
  EXPECT_EQ(count(svg, "class=\"run\""), 2u);
  EXPECT_EQ(count(svg, "class=\"val\""), 2u);
  EXPECT_EQ(count(svg, "<circle"), 6u + 4u);
  EXPECT_EQ(count(svg, "entropy floor 0.1900"), 1u);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(PlotPage, NamesCannotBreakOut) {
  const RunHistory runs[] = {run_of("</script><script>alert(1)</script>&\"", 4, 10)};
  const std::string page = plot_page(runs);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(count(page, "</script>"), 2u);
  expect_holds(page, {"&lt;/script&gt;", "Content-Security-Policy", "best val loss"});
}

TEST(PlotPage, OnePointIsEnough) {
  RunHistory run;
  run.name = "x";
  run.val_loss.push_back({0, 4.2});
  const RunHistory runs[] = {run};
  EXPECT_EQ(plot_page(runs).find("nan"), std::string::npos);
}

}  // namespace
}  // namespace snug::report
