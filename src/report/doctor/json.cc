// The report as one JSON object. Members: docs/formats.md.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/doctor/content.h"

namespace snug::report {
namespace {

using Json = nlohmann::ordered_json;

Json range_of(const ByteRange& range) {
  return {{"low_bytes", range.low_bytes}, {"high_bytes", range.high_bytes}};
}

Json optional_bytes(const std::optional<std::int64_t>& bytes) {
  return bytes ? Json(*bytes) : Json();
}

// "first_evaluation"
Json phase_name(const std::optional<doctor::torch::TorchPhase>& phase) {
  if (!phase) return nullptr;
  std::string name(doctor::torch::name_of(*phase));
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

std::string_view evidence_name(doctor::diagnosis::Evidence evidence) {
  constexpr std::string_view kNames[] = {"shape_in_log", "size_and_allocated", "size_and_frame",
                                         "size_only", "reading"};
  return kNames[static_cast<std::size_t>(evidence)];
}

Json candidate_of(const DoctorReport& report, const doctor::diagnosis::Candidate& c) {
  return {{"tensor", c.tensor},
          {"shape", c.shape},
          {"dtype", c.dtype},
          {"bytes", c.bytes},
          {"phase", phase_name(c.phase)},
          {"confidence", c.confidence},
          {"evidence", evidence_name(c.evidence)},
          {"op", c.op},
          {"count", c.count},
          {"reading", shape_in_words(report, c)}};
}

Json memory_of_card(const doctor::diagnosis::Diagnosis& d) {
  Json processes = Json::array();
  for (const doctor::log::LogProcess& process : d.other_processes) {
    processes.push_back({{"pid", process.pid},
                         {"bytes", process.in_use ? Json(process.in_use->low_bytes) : Json()}});
  }
  return {{"capacity_bytes", optional_bytes(d.capacity_bytes)},
          {"allocated_bytes", optional_bytes(d.allocated_bytes)},
          {"unallocated_bytes", optional_bytes(d.unallocated_bytes)},
          {"free_bytes", optional_bytes(d.free_bytes)},
          {"context_bytes", optional_bytes(d.context_bytes)},
          {"others_bytes", optional_bytes(d.others_bytes)},
          {"alone", d.alone_on_card},
          {"processes", processes}};
}

Json notes_of(const DoctorReport& report) {
  Json notes = Json::array();
  if (report.conclusions() == nullptr) return notes;
  for (const doctor::diagnosis::Note& note : report.conclusions()->notes) {
    notes.push_back({{"id", name_of(note.id)},
                     {"arguments", note.arguments},
                     {"text", text_in(report.language, note)}});
  }
  return notes;
}

Json peak_of(const doctor::torch::TorchMemory& memory, const doctor::torch::TorchPeak& peak) {
  Json json = {{"allocated_bytes", peak.allocated_bytes},
               {"reserved_bytes", peak.reserved_bytes},
               {"phase", phase_name(peak.phase)},
               {"op", peak.op},
               {"tensor", nullptr}};
  if (peak.tensor >= 0) {
    json["tensor"] = doctor::torch::torch_tensor_name(
        memory, memory.tensors[static_cast<std::size_t>(peak.tensor)]);
  }
  return json;
}

Json pytorch_of(const DoctorReport& report) {
  const doctor::torch::TorchMemory& m = *report.memory;
  return {{"parameters", m.parameter_count},
          {"breakdown",
           {{"params", m.params_bytes},
            {"gradients", m.gradient_bytes},
            {"optimizer", m.optimizer_bytes},
            {"ddp_buckets", m.bucket_bytes},
            {"half_copies", m.half_copies_bytes},
            {"saved_activations", m.saved_bytes},
            {"loss_head", m.loss_bytes}}},
          {"resident_bytes", m.resident_bytes},
          {"peaks",
           {{"start", peak_of(m, m.start)},
            {"evaluate_first", peak_of(m, m.evaluate_first)},
            {"train_first", peak_of(m, m.train_first)},
            {"train", peak_of(m, m.train)},
            {"evaluate_later", peak_of(m, m.evaluate_later)}}},
          {"peak", peak_of(m, m.worst())},
          {"train_range", range_of(m.train_range)},
          {"evaluate_range", range_of(m.evaluate_range)},
          {"context_range", range_of(m.context_range)},
          {"total_range", range_of(report.need)}};
}

Json fix_of(const DoctorReport& report, const fit::Fix& fix) {
  const Json values = Json::parse(config::config_to_json(fix.config));
  Json changes = Json::object();
  for (const config::Change& change : fix.changes) changes[change.key] = values.at(change.key);
  return {{"kind", fit::name_of(fix.kind)},
          {"name", fix_name(report, fix)},
          {"changes", changes},
          {"effective_batch", fix.effective_batch},
          {"total_bytes", fix.total_bytes()},
          {"vram_range", range_of(fix.need)},
          {"saved_bytes", fix.saved_bytes},
          {"time_ratio", fix.time_ratio},
          {"same_result", fix.same_result()},
          {"effect", text_in(report.language, fix_effect(fix))},
          {"parameters", fix.reported_parameters},
          {"fits", fix.fits},
          {"needs_edit", fix.needs_edit},
          {"edit", fix_code(report, fix)}};
}

Json optional_fix(const DoctorReport& report, const std::optional<fit::Fix>& fix) {
  return fix ? fix_of(report, *fix) : Json();
}

void add_diagnosis_members(const DoctorReport& report, Json& json) {
  const doctor::diagnosis::Diagnosis* d = report.conclusions();
  const bool has_cause =
      d != nullptr && (report.diagnosis || d->cause != doctor::diagnosis::Cause::kUnknown);
  json["cause"] = has_cause ? Json(doctor::diagnosis::name_of(d->cause)) : Json();
  json["cause_confidence"] = has_cause ? Json(d->cause_confidence) : Json();
  json["request_bytes"] = d != nullptr && d->request_bytes > 0 ? Json(d->request_bytes) : Json();
  json["phase"] = d != nullptr ? phase_name(d->phase) : Json();
  json["candidates"] = Json::array();
  if (d == nullptr) return;
  for (const doctor::diagnosis::Candidate& c : d->candidates)
    json["candidates"].push_back(candidate_of(report, c));
  json["memory"] = memory_of_card(*d);
  json["worst_peak_bytes"] = d->worst_peak_bytes;
  json["message"] = d->event ? Json(d->event->text) : Json();
  json["line"] = d->event ? Json(d->event->line) : Json();
}

Json assumption_list(const DoctorReport& report) {
  Json list = Json::array();
  for (const doctor::torch::TorchAssumption& a :
       doctor::torch::torch_assumptions(report.memory->run)) {
    list.push_back({{"key", doctor::torch::name_of(a.id)}, {"text", text_in(report.language, a)}});
  }
  list.push_back({{"key", "time"}, {"text", time_assumption(report)}});
  return list;
}

}  // namespace

std::string doctor_json(const DoctorReport& report) {
  const DoctorContent content = doctor_content(report);
  Json json;
  add_diagnosis_members(report, json);
  json["headline"] = content.headline;
  json["explanation"] = content.explanation;
  json["pytorch"] = report.memory != nullptr ? pytorch_of(report) : Json();
  json["card"] = report.card != nullptr ? Json(report.card->key) : Json();
  json["card_bytes"] = report.card_bytes > 0 ? Json(report.card_bytes) : Json();
  json["fixes"] = Json::array();
  if (report.fixes != nullptr) {
    for (const fit::Fix& fix : report.fixes->ranked) json["fixes"].push_back(fix_of(report, fix));
  }
  json["fits_as_is"] = report.fixes != nullptr ? Json(report.fixes->fits_as_is) : Json();
  json["recommended"] =
      report.fixes != nullptr ? optional_fix(report, report.fixes->chosen) : Json();
  json["safest"] = report.fixes != nullptr ? optional_fix(report, report.fixes->safest) : Json();
  json["snug"] = report.snug ? Json{{"total_bytes", report.snug->total_bytes},
                                    {"fits", report.snug->fits},
                                    {"changes", report.snug->changes},
                                    {"device", report.snug->device},
                                    {"trainable", fit::name_of(report.snug->support)}}
                             : Json();
  json["notes"] = notes_of(report);
  if (report.explain && report.memory != nullptr) json["assumptions"] = assumption_list(report);
  json["language"] = code_of(report.language);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace snug::report
