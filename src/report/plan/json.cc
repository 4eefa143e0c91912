// The plan as one JSON object. Members: docs/formats.md.
#include <nlohmann/json.hpp>

#include "report/plan/budget_text.h"
#include "report/plan/fix_text.h"
#include "report/plan/report.h"

namespace snug::report {
namespace {

using Json = nlohmann::ordered_json;

Json roles_of(const plan::RunPlan& run) {
  Json roles;
  const plan::RoleBytes& bytes = run.plan.steps[run.plan.peak_step].by_role;
  for (int role = 0; role < kRoleCount; ++role) {
    roles[std::string(name_of(static_cast<Role>(role)))] = bytes[static_cast<std::size_t>(role)];
  }
  roles["gaps"] = run.plan.arena_bytes - run.plan.lower_bound_bytes;
  return roles;
}

Json phases_of(const PlanReportInput& in) {
  Json phases;
  for (std::size_t p = 0; p < in.training.program.phases.size(); ++p) {
    phases[std::string(program::name_of(in.training.program.phases[p].kind))] =
        in.training.plan.phase_bytes[p];
  }
  phases["sample"] = in.sampling.plan.arena_bytes;
  return phases;
}

Json largest_of(const plan::RunPlan& run) {
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

Json budget_of(const PlanReportInput& in) {
  const fit::Budget& b = in.budget;
  Json json;
  json["origin"] = budget_origin(b);
  json["memory_bytes"] = b.memory_bytes;
  json["display_bytes"] = b.display_bytes;
  json["context_bytes"] = {{"low", b.context.low_bytes}, {"high", b.context.high_bytes}};
  json["headroom_bytes"] = b.headroom_bytes;
  json["headroom_is_default"] = b.headroom_is_default;
  json["usable_bytes"] = b.usable_bytes;
  json["limit_bytes"] = b.limit_bytes();
  return json;
}

Json time_of(const fit::TimeEstimate& t) {
  const auto seconds = [&](double middle) {
    return Json{{"low", middle * t.low}, {"expected", middle}, {"high", middle * t.high}};
  };
  Json json;
  json["iteration_seconds"] = seconds(t.iteration_seconds);
  json["evaluation_seconds"] = seconds(t.evaluation_seconds);
  json["run_seconds"] = seconds(t.run_seconds);
  json["tokens_per_second"] = {{"low", t.tokens_per_second / t.high},
                               {"expected", t.tokens_per_second},
                               {"high", t.tokens_per_second / t.low}};
  return json;
}

// Values keep their JSON types; changes hold Python's texts.
Json value_of(const config::Config& config, const std::string& key) {
  return Json::parse(config::config_to_json(config)).at(key);
}

Json fix_of(const config::Config& before, const fit::Fix& fix) {
  Json changes = Json::object();
  for (const config::Change& change : fix.changes)
    changes[change.key] = value_of(fix.config, change.key);
  return {{"name", fix_name(Language::kEnglish, before, fix)},
          {"changes", changes},
          {"effective_batch", fix.effective_batch},
          {"total_bytes", fix.total_bytes()},
          {"saved_bytes", fix.saved_bytes},
          {"time_ratio", fix.time_ratio},
          {"same_result", fix.same_result()},
          {"effect", effect_text(Language::kEnglish, fix.effect, false)},
          {"parameters", fix.parameters},
          {"fits", fix.fits},
          {"helps", fix.helps()}};
}

std::string_view verdict_name(fit::Verdict verdict) {
  switch (verdict) {
    case fit::Verdict::kFits:
      return "fits";
    case fit::Verdict::kBarelyFits:
      return "fits_with_less_than_5_percent_to_spare";
    case fit::Verdict::kDoesNotFit:
      return "does_not_fit";
  }
  return "";
}

}  // namespace

std::string plan_json(const PlanReportInput& in) {
  const plan::RunPlan& run = in.training;
  const plan::PlanStep& peak = run.plan.steps[run.plan.peak_step];
  const program::Phase& phase = run.program.phases[static_cast<std::size_t>(peak.phase)];
  const config::Config& before = in.fixes.before;
  Json json;
  json["fits"] = in.fits();
  json["verdict"] = verdict_name(in.verdict());
  json["total_bytes"] = run.total_bytes();
  json["arena_bytes"] = run.plan.arena_bytes;
  json["overhead_bytes"] = run.overhead_bytes;
  json["pinned_host_bytes"] = run.plan.arena_bytes_in(Space::kPinned);
  json["budget_bytes"] = in.budget.usable_bytes;
  json["budget"] = budget_of(in);
  json["device"] = in.card != nullptr ? std::string(in.card->key) : "cpu";
  json["trainable"] = in.card != nullptr ? fit::name_of(in.support) : "yes";
  json["lower_bound_bytes"] = run.plan.lower_bound_bytes;
  json["parameters"] = run.model.parameter_count();
  json["vocab_size"] = run.model.vocab_size;
  json["effective_batch"] = config::effective_batch_of(in.config.values);
  json["roles"] = roles_of(run);
  json["phases"] = phases_of(in);
  json["peak"] = {{"phase", program::name_of(phase.kind)},
                  {"op", phase.ops[static_cast<std::size_t>(peak.op)].label},
                  {"bytes", peak.live_bytes}};
  json["largest"] = largest_of(run);
  json["time"] = time_of(in.time);
  json["chosen"] = in.fixes.chosen ? fix_of(before, *in.fixes.chosen) : Json();
  json["safest"] = fix_of(before, *in.fixes.safest);
  json["fixes"] = Json::array();
  for (const fit::Fix& fix : in.fixes.ranked) json["fixes"].push_back(fix_of(before, fix));
  json["spare"] = Json::array();
  for (const fit::Fix& fix : in.fixes.spare) json["spare"].push_back(fix_of(before, fix));
  json["config"] = Json::parse(config::config_to_json(in.config.values));
  return json.dump(2) + "\n";
}

}  // namespace snug::report
