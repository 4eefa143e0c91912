// The plan as one JSON object. Members: docs/formats.md.
#include <nlohmann/json.hpp>

#include "report/plan_report.h"

namespace snug {
namespace {

using Json = nlohmann::ordered_json;

Json roles_of(const RunPlan& run) {
  Json roles;
  const RoleBytes& bytes = run.plan.steps[run.plan.peak_step].by_role;
  for (int role = 0; role < kRoleCount; ++role) {
    roles[std::string(name_of(static_cast<Role>(role)))] = bytes[static_cast<std::size_t>(role)];
  }
  roles["gaps"] = run.plan.arena_bytes - run.plan.lower_bound_bytes;
  return roles;
}

Json phases_of(const PlanReportInput& in) {
  Json phases;
  for (std::size_t p = 0; p < in.training.program.phases.size(); ++p) {
    phases[std::string(name_of(in.training.program.phases[p].kind))] =
        in.training.plan.phase_bytes[p];
  }
  phases["sample"] = in.sampling.plan.arena_bytes;
  return phases;
}

Json largest_of(const RunPlan& run) {
  Json list = Json::array();
  for (const TensorId id : largest_tensors(run, 10)) {
    const Tensor& tensor = run.program.tensor(id);
    Json shape = Json::array();
    for (int axis = 0; axis < tensor.shape.rank(); ++axis) shape.push_back(tensor.shape[axis]);
    list.push_back({{"name", tensor.name},
                    {"shape", shape},
                    {"dtype", name_of(tensor.dtype)},
                    {"role", name_of(tensor.role)},
                    {"bytes", tensor.byte_count()}});
  }
  return list;
}

}  // namespace

std::string plan_json(const PlanReportInput& in) {
  const RunPlan& run = in.training;
  const PlanStep& peak = run.plan.steps[run.plan.peak_step];
  const Phase& phase = run.program.phases[static_cast<std::size_t>(peak.phase)];
  Json json;
  json["fits"] = in.fits();
  json["total_bytes"] = run.total_bytes();
  json["arena_bytes"] = run.plan.arena_bytes;
  json["overhead_bytes"] = run.overhead_bytes;
  json["budget_bytes"] = in.budget_bytes;
  json["lower_bound_bytes"] = run.plan.lower_bound_bytes;
  json["parameters"] = run.model.parameter_count();
  json["vocab_size"] = run.model.vocab_size;
  json["effective_batch"] = in.config.batch_size * in.config.gradient_accumulation_steps;
  json["roles"] = roles_of(run);
  json["phases"] = phases_of(in);
  json["peak"] = {{"phase", name_of(phase.kind)},
                  {"op", phase.ops[static_cast<std::size_t>(peak.op)].label},
                  {"bytes", peak.live_bytes}};
  json["largest"] = largest_of(run);
  json["config"] = Json::parse(config_to_json(in.config));
  return json.dump(2) + "\n";
}

}  // namespace snug
