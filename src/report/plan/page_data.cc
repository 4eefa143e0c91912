// The page's data. Settings differ little, so names, tensors and phases are written once and
// referred to by index, and tensors that live and die together are one run of indices.
#include "report/plan/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "plan/liveness.h"
#include "report/plan/budget_text.h"
#include "report/plan/fix_table.h"
#include "report/plan/fix_text.h"

namespace snug {
namespace {

using Json = nlohmann::ordered_json;

// Every distinct value once, in the order of first sight.
template <typename Value>
class Distinct {
 public:
  std::size_t index_of(const Value& value) {
    const auto [at, is_new] = index_.emplace(value, values_.size());
    if (is_new) values_.push_back(value);
    return at->second;
  }
  Json take() { return std::move(values_); }

 private:
  std::map<Value, std::size_t> index_;
  Json values_ = Json::array();
};

std::string_view word_for(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits:
      return "fits";
    case Verdict::kBarelyFits:
      return "tight";
    case Verdict::kDoesNotFit:
      return "no";
  }
  return "?";
}

Json budget_json(const Budget& budget) {
  return {{"usable", budget.usable_bytes},
          {"memory", budget.memory_bytes},
          {"display", budget.display_bytes},
          {"context", {budget.context.low_bytes, budget.context.high_bytes}},
          {"headroom", budget.headroom_bytes},
          {"origin", budget_origin(budget)}};
}

bool is_on_card(const Program& program) {
  return std::any_of(program.tensors.begin(), program.tensors.end(),
                     [](const Tensor& tensor) { return tensor.space == Space::kDevice; });
}

// As the table of fixes says it, and how much of it: the page has the room.
std::string effect_of(const Fix& fix, bool on_card) {
  const std::string text = effect_text(fix.effect, on_card);
  switch (fix.effect) {
    case Effect::kFewerSequences:
      return fmt::format("{}: {} sequences per update", text, fix.effective_batch);
    case Effect::kShorterContext:
      return fmt::format("{}: {} tokens", text, fix.config.block_size);
    default:
      return text;
  }
}

Json fix_json(const Fix& fix, bool on_card) {
  return {{"batch", fix.effective_batch},
          {"saved", fix.saved_bytes},
          {"time", fix.time_ratio},
          {"effect", effect_of(fix, on_card)},
          {"arguments", as_arguments(fix.changes)}};
}

class PageData {
 public:
  explicit PageData(const PlanPage& page) : page_(page) {}

  Json build() {
    Json settings = Json::array();
    for (const PlanPage::Setting& setting : page_.settings) settings.push_back(add(setting));
    Json roles = Json::array();
    for (int role = 0; role < kRoleCount; ++role) roles.push_back(name_of(static_cast<Role>(role)));
    return {{"title", page_.title},      {"command", page_.command},
            {"roles", std::move(roles)}, {"budget", budget_json(page_.budget)},
            {"names", names_.take()},    {"tensors", tensors_.take()},
            {"phases", phases_.take()},  {"settings", std::move(settings)}};
  }

 private:
  Json add(const PlanPage::Setting& setting) {
    const RunPlan& run = *setting.run;
    Json json = {{"name", setting.name},
                 {"verdict", word_for(verdict_of(run.total_bytes(), page_.budget))},
                 {"total", run.total_bytes()},
                 {"outside", run.overhead_bytes},
                 {"phases", Json::array()}};
    for (const Phase& phase : run.program.phases) json["phases"].push_back(add(phase));
    add_blocks(run.program, json);
    if (setting.fix != nullptr) json["fix"] = fix_json(*setting.fix, is_on_card(run.program));
    return json;
  }

  std::size_t add(const Phase& phase) {
    Json ops = Json::array();
    for (const Op& op : phase.ops) ops.push_back(names_.index_of(op.label));
    Json json = {{"name", name_of(phase.kind)}, {"ops", std::move(ops)}};
    if (phase.kind == PhaseKind::kMicroStep && !phase.loops.empty()) {
      const RowLoop& loop = phase.loops[0];
      json["loss"] = {loop.first_op, loop.end_op - loop.first_op};
    }
    return phases_.index_of(json);
  }

  std::size_t add(const Tensor& tensor, std::int64_t block_bytes) {
    Json shape = Json::array();
    for (int axis = 0; axis < tensor.shape.rank(); ++axis) shape.push_back(tensor.shape[axis]);
    return tensors_.index_of({names_.index_of(tensor.name), name_of(tensor.dtype),
                              static_cast<int>(tensor.role), block_bytes, std::move(shape)});
  }

  void add_blocks(const Program& program, Json& json) {
    std::vector<std::int64_t> runs, scratch;  // [tensor, count, first, last]..., [step, bytes]...
    for (const Block& block : live_blocks(program)) {
      if (block.tensor == kNoTensor) {
        scratch.insert(scratch.end(), {block.first, block.bytes});
        continue;
      }
      const auto tensor = static_cast<std::int64_t>(add(program.tensor(block.tensor), block.bytes));
      if (!runs.empty()) {
        std::int64_t* const last = &runs[runs.size() - 4];
        if (last[0] + last[1] == tensor && last[2] == block.first && last[3] == block.last) {
          ++last[1];
          continue;
        }
      }
      runs.insert(runs.end(), {tensor, 1, block.first, block.last});
    }
    json["blocks"] = std::move(runs);
    json["scratch"] = std::move(scratch);
  }

  const PlanPage& page_;
  Distinct<std::string> names_;
  Distinct<Json> tensors_, phases_;
};

}  // namespace

std::string plan_page_data(const PlanPage& page) {
  const std::string text =
      PageData(page).build().dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";  // neither </script> nor <!-- can come about
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace snug
