#include "report/plot/loss_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "report/plot/scale.h"
#include "report/web/page_template.h"

namespace snug::report {
namespace {

using metrics::Point;
using metrics::RunHistory;
using Runs = std::span<const RunHistory>;

constexpr double kChartWidth = 960, kHeight = 520;
constexpr double kLeft = 64, kRight = 24, kTop = 20, kBottom = 56;
constexpr std::size_t kMaxPoints = 800;  // more than the drawing has room for

// Told apart by people who see colours otherwise, too (Okabe and Ito).
constexpr std::array kColors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                "#e69f00", "#56b4e9", "#7f6000", "#555555"};

struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

void widen(std::span<const Point> points, Extent& x, Extent& y) {
  for (const Point& point : points) {
    x.add(point.iteration);
    y.add(point.value);
  }
}

struct Axes {
  Axis x, y;
};

Axes make_axes(Runs runs) {
  Extent x, y;
  for (const RunHistory& run : runs) {
    widen(thinned(run.loss, kMaxPoints), x, y);
    widen(run.train_loss, x, y);
    widen(run.val_loss, x, y);
    if (run.entropy_floor) y.add(*run.entropy_floor);
  }
  const double margin = 0.04 * (y.high - y.low);
  return {make_axis(std::min(0.0, x.low), x.high, kLeft, kChartWidth - kRight, 8),
          make_axis(y.low - margin, y.high + margin, kHeight - kBottom, kTop, 7)};
}

std::string line_of(std::span<const Point> points, const Axes& axes) {
  std::string path;
  for (const Point& point : points) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", axes.x.at(point.iteration),
                        axes.y.at(point.value));
  }
  return path;
}

std::string grid(const Axes& axes) {
  std::string svg = "<g class=\"grid\" stroke=\"#8884\" fill=\"#777\" font-size=\"13\">\n";
  for (const double value : axes.x.ticks) {
    const double x = axes.x.at(value);
    svg += fmt::format(
        "<path d=\"M{0:.1f} {1}V{2}\"/><text stroke=\"none\" x=\"{0:.1f}\" y=\"{3}\" "
        "text-anchor=\"middle\">{4}</text>\n",
        x, kTop, kHeight - kBottom, kHeight - kBottom + 20, tick_text(value, axes.x.step));
  }
  for (const double value : axes.y.ticks) {
    const double y = axes.y.at(value);
    svg += fmt::format(
        "<path d=\"M{0} {1:.1f}H{2}\"/><text stroke=\"none\" x=\"{3}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5}</text>\n",
        kLeft, y, kChartWidth - kRight, kLeft - 8, y + 4.5, tick_text(value, axes.y.step));
  }
  return svg +
         fmt::format(
             "<text stroke=\"none\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">iteration</text>\n"
             "<text stroke=\"none\" transform=\"translate(16 {}) rotate(-90)\" "
             "text-anchor=\"middle\">loss, nats per token</text>\n</g>\n",
             (kLeft + kChartWidth - kRight) / 2, kHeight - 12, (kTop + kHeight - kBottom) / 2);
}

std::string curves(const RunHistory& run, std::size_t index, const Axes& axes) {
  const char* color = run_color(index);
  std::string svg = fmt::format(
      "<g class=\"run\" data-run=\"{}\" fill=\"none\" stroke=\"{}\" "
      "stroke-linejoin=\"round\">\n<title>{}</title>\n",
      index, color, page_text("", run.name).html);
  const auto add = [&](std::span<const Point> points, const char* kind, const char* style) {
    if (points.empty()) return;
    svg += fmt::format("<path class=\"{}\" d=\"{}\" {}/>\n", kind, line_of(points, axes), style);
  };
  add(thinned(run.loss, kMaxPoints), "loss", "stroke-width=\"1\" stroke-opacity=\"0.35\"");
  add(thinned(run.train_loss, kMaxPoints), "train",
      "stroke-width=\"1.5\" stroke-dasharray=\"5 4\"");
  add(thinned(run.val_loss, kMaxPoints), "val", "stroke-width=\"2.2\"");
  if (run.val_loss.size() <= 100) {
    for (const Point& point : run.val_loss) {
      svg +=
          fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\" stroke=\"none\"/>\n",
                      axes.x.at(point.iteration), axes.y.at(point.value), color);
    }
  }
  return svg + "</g>\n";
}

std::string floors(Runs runs, const Axes& axes) {
  std::set<double> values;
  for (const RunHistory& run : runs) {
    if (run.entropy_floor) values.insert(*run.entropy_floor);
  }
  std::string svg;
  for (const double value : values) {
    svg += fmt::format(
        "<g class=\"floor\"><path d=\"M{0} {1:.1f}H{2}\" stroke=\"#777\" stroke-width=\"1.5\" "
        "stroke-dasharray=\"2 4\"/><text x=\"{5}\" y=\"{3:.1f}\" fill=\"#777\" font-size=\"13\" "
        "text-anchor=\"start\">entropy floor {4:.4f}</text></g>\n",
        kLeft, axes.y.at(value), kChartWidth - kRight, axes.y.at(value) - 6, value, kLeft + 6);
  }
  return svg;
}

std::string legend(Runs runs) {
  std::string svg = "<g class=\"legend\" font-size=\"13\">\n";
  double y = kTop + 20;
  for (std::size_t i = 0; i < runs.size(); ++i, y += 19) {
    svg += fmt::format(
        "<path d=\"M{} {}h22\" stroke=\"{}\" stroke-width=\"2.2\"/>"
        "<text x=\"{}\" y=\"{}\" fill=\"#777\" text-anchor=\"end\">{}</text>\n",
        kChartWidth - kRight - 30, y - 4, run_color(i), kChartWidth - kRight - 38, y,
        page_text("", runs[i].name).html);
  }
  return svg + fmt::format(
                   "<text x=\"{}\" y=\"{}\" fill=\"#777\" text-anchor=\"end\" font-size=\"12\">"
                   "bold: val, dashed: train, thin: batches</text>\n</g>\n",
                   kChartWidth - kRight - 8, y);
}

}  // namespace

std::vector<Point> thinned(std::span<const Point> points, std::size_t limit) {
  if (points.size() <= limit) return {points.begin(), points.end()};
  std::vector<Point> out;
  for (std::size_t i = 0; i < limit; ++i) {
    const std::size_t begin = i * points.size() / limit, end = (i + 1) * points.size() / limit;
    Point mean;
    for (const Point& point : points.subspan(begin, end - begin)) {
      mean.iteration += point.iteration / static_cast<double>(end - begin);
      mean.value += point.value / static_cast<double>(end - begin);
    }
    out.push_back(mean);
  }
  return out;
}

const char* run_color(std::size_t index) { return kColors[index % kColors.size()]; }

std::string loss_chart(Runs runs) {
  const Axes axes = make_axes(runs);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"system-ui, sans-serif\" data-left=\"{2}\" data-right=\"{3}\" "
      "data-low=\"{4}\" data-high=\"{5}\">\n",
      kChartWidth, kHeight, kLeft, kChartWidth - kRight, axes.x.low, axes.x.high);
  svg += grid(axes) + floors(runs, axes);
  for (std::size_t i = 0; i < runs.size(); ++i) svg += curves(runs[i], i, axes);
  return svg + legend(runs) + "</svg>\n";
}

}  // namespace snug::report
