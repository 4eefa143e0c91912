// A snapshot as one JSON object. Members: docs/formats.md.
#include <nlohmann/json.hpp>

#include <algorithm>

#include "report/catalogue/snapshot_texts.h"
#include "report/doctor/snapshot/content.h"

namespace snug::report {
namespace {

using Json = nlohmann::ordered_json;
using doctor::snapshot::FreeMemory;
using doctor::snapshot::Moment;
using doctor::snapshot::Name;
using doctor::snapshot::SnapshotCase;

constexpr std::size_t kBlocksTold = 100000;

Json name_of_tensor(const SnapshotReport& report, const Name& name) {
  const std::string place = place_text(report, name);
  return {{"role", doctor::snapshot::name_of(name.role)},
          {"tensor", name.label.empty() ? Json() : Json(name.label)},
          {"layer", name.layer >= 0 ? Json(name.layer) : Json()},
          {"place", place.empty() ? Json() : Json(place)},
          {"known_by", doctor::snapshot::name_of(name.source)}};
}

Json moment_of(const SnapshotReport& report, const Moment& moment) {
  Json roles = Json::object(), tensors = Json::array();
  for (std::size_t i = 0; i < moment.bytes.size(); ++i) {
    roles[std::string(doctor::snapshot::name_of(static_cast<doctor::snapshot::Role>(i)))] =
        moment.bytes[i];
  }
  for (const doctor::snapshot::HeldTensors& row : moment.rows) {
    Json tensor = name_of_tensor(report, row.name);
    tensor.erase("layer");
    tensor["bytes"] = row.bytes;
    tensor["count"] = row.count;
    tensor["layers"] = row.layer_count;
    tensors.push_back(std::move(tensor));
  }
  return {{"total_bytes", moment.total_bytes()},
          {"named_bytes", moment.named_bytes()},
          {"by_role", roles},
          {"tensors", tensors}};
}

Json free_of(const FreeMemory& free) {
  return {{"reserved_bytes", free.reserved_bytes},
          {"allocated_bytes", free.allocated_bytes},
          {"free_bytes", free.free_bytes},
          {"largest_free_bytes", free.largest_bytes},
          {"free_pieces", free.piece_count},
          {"small_free_bytes", free.small_free_bytes},
          {"private_free_bytes", free.private_free_bytes}};
}

Json failure_of(const SnapshotReport& report) {
  const SnapshotCase& found = *report.snapshot_case;
  if (!found.failure) return nullptr;
  const doctor::snapshot::Failure& failure = *found.failure;
  std::string phase(doctor::torch::name_of(failure.phase));
  std::replace(phase.begin(), phase.end(), ' ', '_');
  return {
      {"cause", failure.cause == doctor::snapshot::FailureCause::kFragmentation ? "fragmentation"
                                                                                : "capacity"},
      {"request_bytes", failure.request_bytes},
      {"device_free_bytes", failure.device_free_bytes},
      {"tensor", name_of_tensor(report, failure.tensor)},
      {"phase", phase},
      {"count", failure.count},
      {"reserved_bytes", failure.reserved_bytes},
      {"cache", free_of(failure.free)},
      {"held", moment_of(report, failure.held)}};
}

Json model_of(const doctor::snapshot::ModelSizes& sizes) {
  if (!sizes.is_known()) return nullptr;
  return {
      {"n_layer", sizes.layers},   {"n_embd", sizes.width},       {"n_head", sizes.heads},
      {"block_size", sizes.block}, {"batch_size", sizes.batch()}, {"vocab_size", sizes.vocabulary},
      {"bias", sizes.bias},        {"dropout", sizes.dropout},    {"autocast", sizes.half}};
}

Json comparison_of(const SnapshotCase& found) {
  if (!found.comparison) return nullptr;
  Json tensors = Json::array(), others = Json::array();
  for (const doctor::snapshot::ComparedTensor& tensor : found.comparison->tensors) {
    tensors.push_back({{"tensor", tensor.label},
                       {"per_layer", tensor.per_layer},
                       {"model_bytes", tensor.model_bytes},
                       {"here_bytes", tensor.here_bytes},
                       {"layers", tensor.here_layers}});
  }
  for (const doctor::snapshot::OtherSetting& other : found.comparison->others) {
    others.push_back({{"key", other.key}, {"config", other.config}, {"snapshot", other.here}});
  }
  return {{"model_layer_bytes", found.comparison->model_layer_bytes},
          {"here_layer_bytes", found.comparison->here_layer_bytes},
          {"btc", found.comparison->stream_elements},
          {"tensors", tensors},
          {"other_settings", others}};
}

Json blocks_of(const SnapshotReport& report) {
  const SnapshotCase& found = *report.snapshot_case;
  Json blocks = Json::array();
  for (const doctor::snapshot::Segment& segment : found.snapshot.segments) {
    for (std::uint32_t i = 0; i < segment.block_count && blocks.size() < kBlocksTold; ++i) {
      const std::uint32_t index = segment.first_block + i;
      const doctor::snapshot::Block& block = found.snapshot.blocks[index];
      if (block.state == doctor::snapshot::BlockState::kFree) continue;
      Json json = {{"address", block.address}, {"bytes", block.requested_bytes}};
      json.update(name_of_tensor(report, found.names.of_block(index)));
      blocks.push_back(std::move(json));
    }
  }
  return blocks;
}

// The members of the doctor's own report on the run.
void add_doctor(const SnapshotReport& report, Json& json) {
  const SnapshotCase& found = *report.snapshot_case;
  Json of_doctor;
  if (found.doctor) {
    DoctorReport whole = doctor_report(*found.doctor);
    whole.language = report.language;
    of_doctor = Json::parse(doctor_json(whole));
  }
  for (const char* member : {"pytorch", "card", "card_bytes", "fixes", "recommended", "safest"}) {
    json[member] = of_doctor.is_object() ? of_doctor[member] : Json();
  }
}

}  // namespace

std::string snapshot_json(const SnapshotReport& report) {
  const SnapshotCase& found = *report.snapshot_case;
  const DoctorContent content = snapshot_content(report);
  Json json;
  json["headline"] = content.headline;
  json["explanation"] = content.explanation;
  json["now"] = moment_of(report, found.now);
  json["cache"] = free_of(found.free);
  json["out_of_memory"] = failure_of(report);
  json["model"] = model_of(found.inferred.sizes);
  json["is_nanogpt"] = found.inferred.model.is_gpt;
  json["has_config"] = found.has_config;
  json["record"] = {{"events", found.snapshot.trace.event_count},
                    {"first_event", found.snapshot.trace.first_event},
                    {"allocations", found.snapshot.trace.lives.size()},
                    {"has_frames", found.snapshot.has_frames()},
                    {"file_bytes", found.snapshot.byte_count},
                    {"device", found.snapshot.device},
                    {"devices", found.snapshot.device_count},
                    {"expandable_segments", found.snapshot.expandable_segments}};
  json["comparison"] = comparison_of(found);
  add_doctor(report, json);
  json["blocks"] = blocks_of(report);
  json["language"] = code_of(report.language);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace snug::report
