// The page's data. Settings differ little, so names, tensors and phases are written once and
// referred to by index, and tensors that live and die together are one run of indices.
#include "report/plan/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "plan/liveness.h"
#include "report/catalogue/error_texts.h"
#include "report/catalogue/plan_texts.h"
#include "report/numbers.h"
#include "report/plan/browser_words.h"
#include "report/plan/budget_text.h"
#include "report/plan/fix_table.h"
#include "report/plan/fix_text.h"
#include "report/plan/words.h"

namespace snug::report {
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

std::string_view word_for(fit::Verdict verdict) {
  switch (verdict) {
    case fit::Verdict::kFits:
      return "fits";
    case fit::Verdict::kBarelyFits:
      return "barely";
    case fit::Verdict::kDoesNotFit:
      return "no";
  }
  return "?";
}

Json budget_json(Language language, const fit::Budget& budget) {
  // A headroom that nobody asked for is not taken off: what needs some of it fits, barely.
  return {{"usable", budget.limit_bytes()},
          {"memory", budget.memory_bytes},
          {"display", budget.display_bytes},
          {"context", {budget.context.low_bytes, budget.context.high_bytes}},
          {"headroom", budget.headroom_is_default ? 0 : budget.headroom_bytes},
          {"kept", budget.headroom_is_default ? budget.headroom_bytes : 0},
          {"origin", translated(language, budget_origin(budget))}};
}

bool is_on_card(const program::Program& program) {
  return std::any_of(program.tensors.begin(), program.tensors.end(),
                     [](const Tensor& tensor) { return tensor.space == Space::kDevice; });
}

// As the table of fixes says it, and how much of it: the page has the room.
std::string effect_of(Language language, const fit::Fix& fix, bool on_card) {
  const std::string text = effect_text(language, fix.effect, on_card);
  switch (fix.effect) {
    case fit::Effect::kFewerSequences:
      return text_in(language, PlanTextId::kSequencesPerUpdate,
                     {text, std::to_string(fix.effective_batch)});
    case fit::Effect::kShorterContext:
      return text_in(language, PlanTextId::kTokensLong,
                     {text, std::to_string(fix.config.block_size)});
    default:
      return text;
  }
}

Json fix_json(Language language, const fit::Fix& fix, bool on_card) {
  return {{"batch", fix.effective_batch},
          {"saved", fix.saved_bytes},
          {"time", fix.time_ratio},
          {"effect", effect_of(language, fix, on_card)},
          {"arguments", as_arguments(fix.changes)}};
}

std::string tokens_text(Language language, const fit::TimeEstimate& time) {
  if (time.tokens_per_second <= 0) return "";
  return thousands_in(language, static_cast<std::int64_t>(time.tokens_per_second));
}

std::string speed_text(Language language, const PlanPage::Setting& setting) {
  const fit::TimeEstimate& t = setting.time;
  if (t.tokens_per_second <= 0) return "";
  const auto range = [&](double seconds) {
    return text_in(
        language, PlanTextId::kRange,
        {duration_in(language, seconds * t.low), duration_in(language, seconds * t.high)});
  };
  const auto tokens = [&](double factor) {
    return thousands_in(language, static_cast<std::int64_t>(t.tokens_per_second / factor));
  };
  return text_in(language, PlanTextId::kPageTime,
                 {text_in(language, PlanTextId::kRange, {tokens(t.high), tokens(t.low)}),
                  range(t.iteration_seconds), thousands_in(language, setting.max_iters),
                  range(t.run_seconds)});
}

class PageData {
 public:
  explicit PageData(const PlanPage& page) : page_(page) {}

  Json build() {
    Json settings = Json::array();
    for (const PlanPage::Setting& setting : page_.settings) settings.push_back(add(setting));
    Json roles = Json::array();
    for (int role = 0; role < kRoleCount; ++role) roles.push_back(name_of(static_cast<Role>(role)));
    return {{"title", page_.title},
            {"command", page_.command},
            {"roles", std::move(roles)},
            {"budget", budget_json(page_.language, page_.budget)},
            {"words", browser_words(page_.language)},
            {"support", page_.support},
            {"train", page_.train},
            {"recommended", page_.recommended ? Json(*page_.recommended) : Json(nullptr)},
            {"names", names_.take()},
            {"tensors", tensors_.take()},
            {"phases", phases_.take()},
            {"settings", std::move(settings)}};
  }

 private:
  Json add(const PlanPage::Setting& setting) {
    const plan::RunPlan& run = *setting.run;
    Json json = {{"name", setting.name},
                 {"title", setting.title.empty() ? page_.title : setting.title},
                 {"speed", speed_text(page_.language, setting)},
                 {"tokens", tokens_text(page_.language, setting.time)},
                 {"verdict", word_for(fit::verdict_of(run.total_bytes(), page_.budget))},
                 {"total", run.total_bytes()},
                 {"outside", run.overhead_bytes},
                 {"phases", Json::array()}};
    for (const program::Phase& phase : run.program.phases) json["phases"].push_back(add(phase));
    add_blocks(run.program, run.plan.space, json);
    if (setting.fix != nullptr)
      json["fix"] = fix_json(page_.language, *setting.fix, is_on_card(run.program));
    return json;
  }

  std::size_t add(const program::Phase& phase) {
    Json ops = Json::array();
    for (const ops::Op& op : phase.ops) ops.push_back(names_.index_of(op.label));
    Json json = {{"name", program::name_of(phase.kind)}, {"ops", std::move(ops)}};
    if (phase.kind == program::PhaseKind::kMicroStep && !phase.loops.empty()) {
      const ops::RowLoop& loop = phase.loops[0];
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

  // Those in the space that the ops compute in, which the budget is for.
  void add_blocks(const program::Program& program, Space space, Json& json) {
    std::vector<std::int64_t> runs, scratch;  // [tensor, count, first, last]..., [step, bytes]...
    for (const plan::Block& block : plan::live_blocks(program)) {
      if (block.tensor == kNoTensor) {
        scratch.insert(scratch.end(), {block.first, block.bytes});
        continue;
      }
      if (program.tensor(block.tensor).space != space) continue;
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
  return PageData(page).build().dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace snug::report
