// The parts of the report on a snapshot: facts, bars, tensors, advice.
#include <fmt/format.h>

#include <algorithm>

#include "report/catalogue/snapshot_texts.h"
#include "report/columns.h"
#include "report/doctor/snapshot/content.h"
#include "report/numbers.h"

namespace snug::report {
namespace {

using doctor::snapshot::FreeMemory;
using doctor::snapshot::HeldTensors;
using doctor::snapshot::Moment;
using doctor::snapshot::Name;
using doctor::snapshot::Role;
using doctor::snapshot::SnapshotCase;
using doctor::snapshot::Source;

constexpr std::size_t kTensorsShown = 16;

std::string percent_of(Language language, std::int64_t part, std::int64_t whole) {
  const double share =
      whole <= 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return percent_in(language, share, 1);
}

class Facts {
 public:
  explicit Facts(const SnapshotReport& report)
      : language_(report.language), found_(*report.snapshot_case), report_(report) {}

  DoctorFacts all() {
    add_failure();
    add_model();
    add_record();
    add_named();
    add_free();
    return std::move(facts_);
  }

 private:
  std::string bytes(std::int64_t amount) const { return bytes_in(language_, amount); }
  std::string number(std::int64_t count) const { return thousands_in(language_, count); }
  void add(std::string label, std::vector<std::string> lines) {
    facts_.facts.push_back({std::move(label), std::move(lines)});
  }

  void add_failure() {
    if (!found_.failure) return;
    const Name& tensor = found_.failure->tensor;
    add(text_in(language_, TextId::kWhatItWas), {tensor_title(report_, tensor)});
    const std::string place = place_text(report_, tensor);
    if (!place.empty()) add(text_in(language_, SnapshotTextId::kWhere), {place});
    add(text_in(language_, TextId::kWhen),
        {text_in(language_, texts_of(found_.failure->phase), std::span<const std::string>())});
  }

  void add_model() {
    const doctor::snapshot::ModelSizes& sizes = found_.inferred.sizes;
    std::vector<std::string> lines;
    if (sizes.is_known()) {
      lines.push_back(text_in(
          language_, SnapshotTextId::kModelText,
          {std::to_string(sizes.layers), std::to_string(sizes.width), number(sizes.vocabulary),
           sizes.tokens > 0 ? std::to_string(sizes.batch()) : "–", std::to_string(sizes.block),
           sizes.half ? "bfloat16/float16 (autocast)" : "float32"}));
      if (!found_.has_config) lines.push_back(text_in(language_, SnapshotTextId::kModelOfFile));
    } else {
      lines.push_back(text_in(language_, SnapshotTextId::kNotGpt));
    }
    add(text_in(language_, SnapshotTextId::kModelSeen), std::move(lines));
  }

  void add_record() {
    const doctor::snapshot::Trace& trace = found_.snapshot.trace;
    std::vector<std::string> lines;
    if (trace.event_count == 0) {
      lines.push_back(text_in(language_, SnapshotTextId::kNoRecord));
    } else {
      lines.push_back(text_in(
          language_, SnapshotTextId::kRecordText,
          {number(trace.event_count), number(static_cast<std::int64_t>(trace.lives.size()))}));
    }
    if (trace.first_event > 0)
      lines.push_back(text_in(language_, SnapshotTextId::kRecordCut, {number(trace.first_event)}));
    if (!found_.snapshot.has_frames())
      lines.push_back(text_in(language_, SnapshotTextId::kNoFrames));
    if (found_.snapshot.device_count > 1) {
      lines.push_back(text_in(
          language_, SnapshotTextId::kDevices,
          {std::to_string(found_.snapshot.device), std::to_string(found_.snapshot.device_count)}));
    }
    add(text_in(language_, SnapshotTextId::kRecord), std::move(lines));
    if (found_.timeline.points.empty()) return;
    const auto& peak = found_.timeline.points[found_.timeline.peak];
    std::int64_t total = 0;
    for (const std::int64_t role : peak.bytes) total += role;
    add(text_in(language_, SnapshotTextId::kPeak),
        {text_in(language_, SnapshotTextId::kPeakText,
                 {bytes(total), number(peak.event + 1), number(trace.event_count)})});
  }

  void add_named() {
    const Moment& moment = found_.moment();
    std::int64_t by_size = 0;
    for (const HeldTensors& row : moment.rows) {
      if (row.name.source == Source::kSize && row.name.role != Role::kUnknown) by_size += row.bytes;
    }
    const std::int64_t named = moment.named_bytes(), total = moment.total_bytes();
    if (total == 0) return;
    add(text_in(language_, SnapshotTextId::kNamed),
        {text_in(language_, SnapshotTextId::kNamedText,
                 {percent_of(language_, named, total), bytes(total),
                  percent_of(language_, named - by_size, total),
                  percent_of(language_, by_size, total)})});
  }

  void add_free() {
    const FreeMemory& free = found_.failure ? found_.failure->free : found_.free;
    if (free.reserved_bytes == 0) return;
    std::vector<std::string> lines = {
        text_in(language_, SnapshotTextId::kCacheFreeText,
                {bytes(free.free_bytes), bytes(free.reserved_bytes), number(free.piece_count),
                 bytes(free.largest_bytes)})};
    if (found_.failure)
      lines.push_back(text_in(language_, SnapshotTextId::kCacheFreeAsked,
                              {bytes(found_.failure->request_bytes)}));
    if (found_.snapshot.expandable_segments)
      lines.push_back(text_in(language_, SnapshotTextId::kExpandable));
    add(text_in(language_, SnapshotTextId::kCacheFree), std::move(lines));
  }

  Language language_;
  const SnapshotCase& found_;
  const SnapshotReport& report_;
  DoctorFacts facts_;
};

// Named by its place in the code, or by nothing but its role.
std::string where_of(const SnapshotReport& report, const Name& name) {
  const std::string place = place_text(report, name);
  if (!place.empty()) return place;
  if (name.role == Role::kGradients || name.role == Role::kTemporary)
    return text_in(report.language, SnapshotTextId::kBackward);
  return "";
}

}  // namespace

Band band_of(Role role) {
  constexpr Band kBands[] = {Band::kWeights,    Band::kOptimizer,   Band::kGradients,
                             Band::kHalfCopies, Band::kActivations, Band::kLossHead,
                             Band::kInputs,     Band::kTensors,     Band::kWorkspace,
                             Band::kOthers,     Band::kOutside,     Band::kUnknown};
  static_assert(std::size(kBands) == doctor::snapshot::kRoleCount);
  return kBands[static_cast<std::size_t>(role)];
}

std::string place_text(const SnapshotReport& report, const Name& name) {
  if (name.frame == doctor::snapshot::kNoFrame) return "";
  const doctor::snapshot::Snapshot& snapshot = report.snapshot_case->snapshot;
  const doctor::snapshot::Frame& frame = snapshot.frames[name.frame];
  return clean(
      fmt::format("{}:{}", doctor::snapshot::file_name(snapshot.texts[frame.file]), frame.line));
}

std::string tensor_title(const SnapshotReport& report, const Name& name) {
  if (name.label.empty()) return role_name(report.language, name.role);
  const std::string owner = name.layer >= 0 ? fmt::format("h.{}", name.layer) : "";
  return clean(describe_tensor(report.language, name.label, owner));
}

DoctorFacts snapshot_facts(const SnapshotReport& report) { return Facts(report).all(); }

DoctorBars snapshot_bars(const SnapshotReport& report) {
  const Language language = report.language;
  const SnapshotCase& found = *report.snapshot_case;
  const Moment& moment = found.moment();
  DoctorBars bars;
  bars.language = language;
  bars.title = text_in(language,
                       found.failure ? SnapshotTextId::kHeldThenTitle : SnapshotTextId::kHeldTitle);
  for (std::size_t i = 0; i < doctor::snapshot::kRoleCount; ++i) {
    const auto role = static_cast<Role>(i);
    if (moment.bytes[i] > 0)
      bars.bars.push_back({role_name(language, role), moment.bytes[i], false, band_of(role)});
  }
  const std::int64_t total = moment.total_bytes();
  const std::int64_t reserved =
      std::max(found.failure ? found.failure->reserved_bytes : found.free.reserved_bytes, total);
  if (reserved > total)
    bars.bars.push_back(
        {text_in(language, SnapshotTextId::kPartCached), reserved - total, true, Band::kUnknown});
  bars.bars.push_back(
      {text_in(language, SnapshotTextId::kPartReserved), reserved, false, Band::kUnknown});
  bars.whole_bytes = reserved;
  return bars;
}

DoctorTable snapshot_tensors(const SnapshotReport& report) {
  const Language language = report.language;
  const std::vector<HeldTensors>& rows = report.snapshot_case->moment().rows;
  const auto heading = [&](SnapshotTextId id) { return text_in(language, id); };
  DoctorTable table;
  table.title = heading(SnapshotTextId::kTensorsTitle);
  table.rows_in_text = kTensorsShown;
  if (rows.size() > kTensorsShown)
    table.more = text_in(language, SnapshotTextId::kMoreTensors,
                         {std::to_string(rows.size() - kTensorsShown)});
  table.columns = {{heading(SnapshotTextId::kHeadTensor), 34, false},
                   {heading(SnapshotTextId::kHeadWhere), 16, false},
                   {heading(SnapshotTextId::kHeadMemory), 10, true},
                   {heading(SnapshotTextId::kHeadNumber), 6, true},
                   {heading(SnapshotTextId::kHeadLayers), 9, true}};
  for (const HeldTensors& row : rows) {
    table.rows.push_back({Tone::kPlain,
                          {tensor_title(report, row.name), where_of(report, row.name),
                           bytes_in(language, row.bytes), thousands_in(language, row.count),
                           row.layer_count > 0 ? std::to_string(row.layer_count) : ""}});
  }
  return table;
}

DoctorPoints snapshot_advice(const SnapshotReport& report) {
  const Language language = report.language;
  const SnapshotCase& found = *report.snapshot_case;
  const Moment& moment = found.moment();
  DoctorPoints points;
  points.title = text_in(language, SnapshotTextId::kAdviceTitle);
  const auto held = [&](Role role) { return moment.bytes[static_cast<std::size_t>(role)]; };
  const auto add = [&](SnapshotTextId id, std::int64_t bytes) {
    points.points.push_back(text_in(language, id, {bytes_in(language, bytes)}));
  };
  // A tenth of the whole is worth a sentence.
  const std::int64_t total = moment.total_bytes();
  const FreeMemory& free = found.failure ? found.failure->free : found.free;
  const bool fragmented =
      found.failure && found.failure->cause == doctor::snapshot::FailureCause::kFragmentation;
  if (fragmented && !found.snapshot.expandable_segments)
    add(SnapshotTextId::kAdviceFragmented, free.free_bytes);
  if (held(Role::kUnknown) > total / 20) add(SnapshotTextId::kAdviceRecord, held(Role::kUnknown));
  if (found.doctor && found.doctor->fixes) return points;  // costed, one by one
  std::vector<std::pair<std::int64_t, SnapshotTextId>> parts = {
      {held(Role::kLogits), SnapshotTextId::kAdviceLogits},
      {held(Role::kActivations), SnapshotTextId::kAdviceActivations},
      {held(Role::kOptimizer), SnapshotTextId::kAdviceOptimizer},
      {held(Role::kWeights) + held(Role::kGradients), SnapshotTextId::kAdviceStates}};
  std::sort(parts.begin(), parts.end(),
            [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [bytes, id] : parts) {
    if (bytes > total / 10) add(id, bytes);
  }
  return points;
}

}  // namespace snug::report
