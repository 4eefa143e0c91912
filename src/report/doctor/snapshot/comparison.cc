// The snapshot beside the model: what differs, and that the rest does not.
#include <fmt/format.h>

#include <algorithm>

#include "report/catalogue/snapshot_texts.h"
#include "report/doctor/snapshot/content.h"
#include "report/numbers.h"

namespace snug::report {
namespace {

using doctor::snapshot::ComparedTensor;
using doctor::snapshot::Comparison;

constexpr std::size_t kRowsShown = 12;

// "36.08": in units of batch × block_size × n_embd.
std::string in_units(const SnapshotReport& report, const Comparison& comparison,
                     std::int64_t bytes) {
  const double unit = static_cast<double>(std::max<std::int64_t>(1, comparison.stream_elements));
  return number_in(report.language, fmt::format("{:.2f}", static_cast<double>(bytes) / unit));
}

std::string layer_sentence(const SnapshotReport& report, const Comparison& comparison) {
  const Language language = report.language;
  const std::int64_t model = comparison.model_layer_bytes, here = comparison.here_layer_bytes;
  const std::string model_bytes = bytes_in(language, model);
  const std::string model_units = in_units(report, comparison, model);
  if (here == 0) return text_in(language, SnapshotTextId::kLayerNone, {model_bytes, model_units});
  if (here == model)
    return text_in(language, SnapshotTextId::kLayerSame, {model_bytes, model_units});
  return text_in(
      language, SnapshotTextId::kLayerOther,
      {model_bytes, model_units, bytes_in(language, here), in_units(report, comparison, here)});
}

DoctorTable table_of(const SnapshotReport& report, const Comparison& comparison) {
  const Language language = report.language;
  const auto heading = [&](SnapshotTextId id) { return text_in(language, id); };
  DoctorTable table;
  table.title = heading(SnapshotTextId::kCompareTitle);
  table.has_marks = true;
  table.rows_in_text = kRowsShown;
  table.columns = {{heading(SnapshotTextId::kHeadTensor), 30, false},
                   {heading(SnapshotTextId::kHeadModel), 11, true},
                   {heading(SnapshotTextId::kHeadHere), 11, true},
                   {"", 18, false}};
  bool all_alike = true;
  for (const ComparedTensor& tensor : comparison.tensors) {
    const bool alike = tensor.model_bytes == tensor.here_bytes;
    all_alike = all_alike && alike;
    table.rows.push_back(
        {alike ? Tone::kGood : Tone::kBad,
         {describe_tensor(language, tensor.label, ""),
          tensor.model_bytes == 0 ? "–" : bytes_in(language, tensor.model_bytes),
          bytes_in(language, tensor.here_bytes),
          tensor.per_layer
              ? fmt::format("{} × {}", heading(SnapshotTextId::kPerLayer), tensor.here_layers)
              : ""}});
  }
  if (table.rows.size() > kRowsShown)
    table.more = text_in(language, SnapshotTextId::kMoreTensors,
                         {std::to_string(table.rows.size() - kRowsShown)});
  table.lines.push_back(layer_sentence(report, comparison));
  if (all_alike && !table.rows.empty())
    table.lines.push_back(
        text_in(language, SnapshotTextId::kAllAlike, {std::to_string(comparison.tensors.size())}));
  return table;
}

}  // namespace

void add_comparison(const SnapshotReport& report, DoctorContent& content) {
  if (!report.snapshot_case->comparison) return;
  const Comparison& comparison = *report.snapshot_case->comparison;
  if (!comparison.others.empty()) {
    DoctorPoints points;
    points.title = text_in(report.language, SnapshotTextId::kOthersTitle);
    for (const doctor::snapshot::OtherSetting& other : comparison.others) {
      points.points.push_back(text_in(
          report.language, SnapshotTextId::kOtherSetting,
          {std::string(other.key), std::to_string(other.config), std::to_string(other.here)}));
    }
    content.blocks.push_back(std::move(points));
  }
  content.blocks.push_back(table_of(report, comparison));
}

}  // namespace snug::report
