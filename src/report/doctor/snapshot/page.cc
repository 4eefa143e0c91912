// The snapshot as one HTML page: the text's content, and the timeline as a picture.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/catalogue/snapshot_texts.h"
#include "report/columns.h"
#include "report/doctor/rendering.h"
#include "report/doctor/snapshot/content.h"
#include "report/numbers.h"
#include "report/text.h"
#include "report/web/page_template.h"

namespace snug::report {
namespace {

using Json = nlohmann::ordered_json;
using doctor::snapshot::kRoleCount;
using doctor::snapshot::Role;
using doctor::snapshot::SnapshotCase;
using doctor::snapshot::TimelinePoint;

constexpr char kPage[] =
#include "report/doctor/snapshot/page/page.html.inc"
    ;
constexpr char kDoctorStyle[] =
#include "report/doctor/page/style.css.inc"
    ;
constexpr char kStyle[] =
#include "report/doctor/snapshot/page/style.css.inc"
    ;
constexpr char kScript[] =
#include "report/doctor/snapshot/page/timeline.js.inc"
    ;

// The roles that are held at any point, the lowest of the picture first.
std::vector<std::size_t> roles_of(const doctor::snapshot::Timeline& timeline) {
  std::vector<std::size_t> roles;
  for (std::size_t role = 0; role < kRoleCount; ++role) {
    const bool is_held =
        std::any_of(timeline.points.begin(), timeline.points.end(),
                    [&](const TimelinePoint& point) { return point.bytes[role] > 0; });
    if (is_held) roles.push_back(role);
  }
  return roles;
}

Json points_of(const SnapshotReport& report, const std::vector<std::size_t>& roles) {
  const SnapshotCase& found = *report.snapshot_case;
  Json points = Json::array();
  for (const TimelinePoint& point : found.timeline.points) {
    Json bytes = Json::array();
    for (const std::size_t role : roles) bytes.push_back(point.bytes[role]);
    Json largest;
    if (point.largest_life != doctor::snapshot::kNoLife) {
      const auto& name = found.names.of_life(point.largest_life);
      largest = {tensor_title(report, name), place_text(report, name),
                 bytes_in(report.language, found.snapshot.trace.lives[point.largest_life].bytes)};
    }
    points.push_back({point.event + 1, std::move(bytes), std::move(largest)});
  }
  return points;
}

Json words_of(Language language) {
  const auto word = [&](SnapshotTextId id) { return text_in(language, id); };
  return {{"event", word(SnapshotTextId::kTimelineEvent)},
          {"total", word(SnapshotTextId::kTimelineTotal)},
          {"largest", word(SnapshotTextId::kTimelineLargest)},
          {"failure", word(SnapshotTextId::kTimelineFailure)},
          {"peak", word(SnapshotTextId::kTimelinePeak)},
          {"decimal", language == Language::kGerman ? "," : "."}};
}

std::string timeline_data(const SnapshotReport& report) {
  const SnapshotCase& found = *report.snapshot_case;
  const std::vector<std::size_t> roles = roles_of(found.timeline);
  Json list = Json::array();
  for (const std::size_t role : roles) {
    const Band band = band_of(static_cast<Role>(role));
    list.push_back({{"name", role_name(report.language, static_cast<Role>(role))},
                    {"band", band == Band::kUnknown ? -1 : static_cast<int>(band)}});
  }
  Json data = {
      {"roles", list},
      {"points", points_of(report, roles)},
      {"peak", found.timeline.peak},
      {"failure", found.failure ? Json(found.snapshot.trace.out_of_memory->event + 1) : Json()},
      {"words", words_of(report.language)}};
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string timeline_section(const SnapshotReport& report) {
  if (report.snapshot_case->timeline.points.empty()) return "";
  const auto word = [&](SnapshotTextId id) { return escape_html(text_in(report.language, id)); };
  return fmt::format(
      "<section id=\"timeline\">\n<h2>{}</h2>\n<p class=\"under\">{}</p>\n"
      "<div id=\"picture\" tabindex=\"0\" role=\"img\" aria-label=\"{}\"></div>\n"
      "<div id=\"readout\" aria-live=\"polite\"><p class=\"under\">{}</p></div>\n</section>\n",
      word(SnapshotTextId::kTimelineTitle), word(SnapshotTextId::kTimelineCaption),
      word(SnapshotTextId::kTimelineTitle), word(SnapshotTextId::kTimelineHint));
}

}  // namespace

std::string snapshot_page(const SnapshotReport& report) {
  DoctorContent content = snapshot_content(report);
  // The facts, the picture, and then the rest.
  const std::vector<DoctorBlock> first(content.blocks.begin(),
                                       content.blocks.begin() + (content.blocks.empty() ? 0 : 1));
  content.blocks.erase(content.blocks.begin(),
                       content.blocks.begin() + static_cast<std::ptrdiff_t>(first.size()));
  const std::string why =
      content.explanation.empty()
          ? ""
          : fmt::format("<p class=\"why\">{}</p>\n", escape_html(clean(content.explanation)));
  const PageValue values[] = {
      page_text("language", html_lang_of(report.language)),
      page_text("program", clean(text_in(report.language, SnapshotTextId::kPageTitle))),
      page_text("headline", with_kept_units(clean(content.headline))),
      page_text("tone", name_of(content.tone)),
      page_markup("shared_style", std::string(shared_page_style())),
      page_markup("doctor_style", kDoctorStyle),
      page_markup("style", kStyle),
      page_markup("explanation", why),
      page_markup("facts", sections_html(first)),
      page_markup("timeline", timeline_section(report)),
      page_markup("sections", sections_html(content.blocks)),
      page_json("data", timeline_data(report)),
      page_markup("script", kScript),
  };
  return fill_page(kPage, values);
}

}  // namespace snug::report
