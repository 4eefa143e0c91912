#include "report/plan/page.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "gpt2/spec.h"
#include "program/training_program.h"

namespace snug::report {
namespace {

using Json = nlohmann::json;

class FakeTarget : public program::Target {
 public:
  explicit FakeTarget(Space space = Space::kHost) : space_(space) {}

  std::int64_t scratch_bytes(const ops::Op& op, const ops::Shapes& shapes) const override {
    return op.is<ops::Attention>() || op.is<ops::Linear>() ? 10001 * shapes.batch_size : 0;
  }
  std::int64_t overhead_bytes(const program::Program&) const override { return 28 * kMiB + 5; }
  DType compute_dtype(DType wanted) const override { return wanted; }
  Space space() const override { return space_; }

 private:
  Space space_;
};

std::unique_ptr<plan::RunPlan> plan_of(const config::Config& config,
                                       const program::Target& target = FakeTarget()) {
  auto run = std::make_unique<plan::RunPlan>();
  run->model = gpt2::make_model_spec(config, 50304);
  run->program =
      program::build_training_program(run->model, program::training_shape(config), target);
  run->plan = plan::make_plan(run->program);
  run->overhead_bytes = target.overhead_bytes(run->program);
  return run;
}

config::Config small_config() {
  config::Config config;
  config.n_layer = 3;
  config.n_head = 2;
  config.n_embd = 32;
  config.block_size = config.eval_block_size = 64;
  config.batch_size = config.eval_batch_size = 4;
  config.gradient_accumulation_steps = 2;
  config.bias = true;
  return config;
}

fit::Fix fix_of(const plan::RunPlan& run, fit::Effect effect = fit::Effect::kSame) {
  fit::Fix fix{};
  fix.effect = effect;
  fix.need = {run.total_bytes(), run.total_bytes()};
  fix.time_ratio = 1.25;
  return fix;
}

PlanPage page_of(const plan::RunPlan& run) {
  PlanPage page;
  page.title = "title";
  page.command = "snug plan";
  page.budget = fit::plain_budget(kGiB, fit::BudgetSource::kMemoryBudget, "0%");
  page.settings.push_back({"as it is", &run, nullptr});
  return page;
}

// The text between `before` and the next `after`.
std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const std::size_t at = text.find(before);
  if (at == std::string::npos) return "";
  const std::size_t from = at + before.size();
  return text.substr(from, text.find(after, from) - from);
}

Json data_of(const std::string& html) {
  return Json::parse(between(html, "<script type=\"application/json\" id=\"data\">", "</script>"));
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// Bytes per step and role, added up as the page's script does it.
std::vector<plan::RoleBytes> sums_of(const Json& data, const Json& setting,
                                     std::size_t step_count) {
  std::vector<plan::RoleBytes> sums(step_count, plan::RoleBytes{});
  const auto add = [&](std::size_t role, std::size_t first, std::size_t last, std::int64_t bytes) {
    for (std::size_t step = first; step <= last; ++step) sums.at(step).at(role) += bytes;
  };
  const Json& runs = setting["blocks"];
  for (std::size_t i = 0; i < runs.size(); i += 4) {
    const std::size_t first = runs[i], count = runs[i + 1];
    for (std::size_t t = first; t < first + count; ++t) {
      add(data["tensors"][t][2], runs[i + 2], runs[i + 3], data["tensors"][t][3]);
    }
  }
  const Json& scratch = setting["scratch"];
  for (std::size_t i = 0; i < scratch.size(); i += 2) {
    add(static_cast<std::size_t>(Role::kWorkspace), scratch[i], scratch[i], scratch[i + 1]);
  }
  return sums;
}

TEST(PlanPage, EveryStepAddsUpToThePlan) {
  std::vector<std::unique_ptr<plan::RunPlan>> runs;
  for (const std::int64_t blocks : {0, 1, 3}) {
    for (const std::int64_t batch : {4, 2}) {
      config::Config config = small_config();
      config.checkpoint_blocks = blocks;
      config.batch_size = batch;
      runs.push_back(plan_of(config));
    }
  }
  PlanPage page = page_of(*runs.front());
  const fit::Fix fix = fix_of(*runs.back());
  for (std::size_t i = 1; i < runs.size(); ++i) {
    page.settings.push_back({fmt::format("fix {}", i), runs[i].get(), &fix});
  }
  const Json data = data_of(plan_page(page));
  ASSERT_EQ(data["settings"].size(), runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const plan::Plan& plan = runs[i]->plan;
    const Json& setting = data["settings"][i];
    const auto sums = sums_of(data, setting, plan.steps.size());
    std::int64_t peak = 0;
    for (std::size_t step = 0; step < sums.size(); ++step) {
      EXPECT_EQ(sums[step], plan.steps[step].by_role) << i << " step " << step;
      std::int64_t all = 0;
      for (const std::int64_t bytes : sums[step]) all += bytes;
      peak = std::max(peak, all);
    }
    EXPECT_EQ(peak, plan.lower_bound_bytes);
    EXPECT_EQ(setting["total"], runs[i]->total_bytes());
    EXPECT_EQ(setting["outside"], runs[i]->overhead_bytes);
  }
}

TEST(PlanPage, NamesEveryOpAndTheBordersOfTheLoss) {
  config::Config config = small_config();
  config.checkpoint_blocks = 2;
  const auto run = plan_of(config);
  const Json data = data_of(plan_page(page_of(*run)));
  const Json& phases = data["settings"][0]["phases"];
  ASSERT_EQ(phases.size(), run->program.phases.size());
  for (std::size_t p = 0; p < phases.size(); ++p) {
    const program::Phase& phase = run->program.phases[p];
    const Json& json = data["phases"][phases[p].get<std::size_t>()];
    EXPECT_EQ(json["name"], std::string(program::name_of(phase.kind)));
    ASSERT_EQ(json["ops"].size(), phase.ops.size());
    ASSERT_EQ(json.contains("loss"), phase.kind == program::PhaseKind::kMicroStep);
    for (std::size_t o = 0; o < phase.ops.size(); ++o) {
      EXPECT_EQ(data["names"][json["ops"][o].get<std::size_t>()], phase.ops[o].label);
      if (!json.contains("loss")) continue;
      const std::size_t first = json["loss"][0], count = json["loss"][1];
      EXPECT_EQ(first <= o && o < first + count, phase.loop_of(o) != nullptr) << phase.ops[o].label;
    }
  }
}

TEST(PlanPage, NoTextCanBecomeMarkup) {
  const std::string evil = "</script><script>alert(1)</script><!-- \" ' & \\ \xff </title>";
  const std::string shown =
      "</script><script>alert(1)</script><!-- \" ' & \\ \xef\xbf\xbd </title>";
  const auto run = plan_of(small_config());
  fit::Fix fix = fix_of(*run);
  fix.changes.push_back({"dataset", "'a'", evil});
  PlanPage page = page_of(*run);
  page.title = page.command = evil;
  page.budget.source = fit::BudgetSource::kCard;
  page.budget.card_name = evil;
  page.settings.push_back({evil, run.get(), &fix});
  const std::string html = plan_page(page);
  EXPECT_EQ(count_of(html, "<script"), 2U);
  EXPECT_EQ(count_of(html, "</script"), 2U);
  EXPECT_EQ(count_of(html, "</title"), 1U);
  EXPECT_EQ(count_of(html, "<!--"), 0U);
  const Json data = data_of(html);
  EXPECT_EQ(data["title"], shown);
  EXPECT_EQ(data["command"], shown);
  EXPECT_EQ(data["budget"]["origin"], shown);
  EXPECT_EQ(data["settings"][1]["name"], shown);
}

TEST(PlanPage, AsksForNothing) {
  const auto run = plan_of(small_config());
  const std::string html = plan_page(page_of(*run));
  for (const char* part : {"http:", "https:", "@import", " src=", "fetch(", "XMLHttpRequest",
                           "import(", "WebSocket", "sendBeacon"}) {
    EXPECT_EQ(count_of(html, part), 0U) << part;
  }
  EXPECT_EQ(count_of(html, "url("), count_of(html, "url(#"));
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
}

TEST(PlanPage, SaysTheVerdictOfEachSetting) {
  const auto run = plan_of(small_config());
  const auto verdict_at = [&](std::int64_t budget) {
    PlanPage page = page_of(*run);
    page.budget = fit::plain_budget(budget, fit::BudgetSource::kMemoryBudget, "0%");
    return data_of(plan_page(page))["settings"][0]["verdict"].get<std::string>();
  };
  EXPECT_EQ(verdict_at(run->total_bytes() - 1), "no");
  EXPECT_EQ(verdict_at(run->total_bytes()), "barely");
  EXPECT_EQ(verdict_at(2 * run->total_bytes()), "fits");
}

TEST(PlanPage, WithoutScriptsTheVerdictIsStillThere) {
  const auto run = plan_of(small_config());
  PlanPage page = page_of(*run);
  page.budget = fit::plain_budget(kMiB, fit::BudgetSource::kMemoryBudget, "0%");
  EXPECT_EQ(between(plan_page(page), "<noscript><p>", "</p>"),
            fmt::format("title: Does not fit. Needs {}, 1.00 MiB may be used. The picture needs "
                        "JavaScript.",
                        format_bytes(run->total_bytes())));
}

TEST(PlanPage, TellsWhatAFixDoes) {
  const auto run = plan_of(small_config());
  const auto on_card = plan_of(small_config(), FakeTarget(Space::kDevice));
  const auto fix_json = [](const plan::RunPlan& planned, const fit::Fix& fix) {
    PlanPage page = page_of(planned);
    page.settings.push_back({"fix", &planned, &fix});
    return data_of(plan_page(page))["settings"][1]["fix"];
  };
  fit::Fix fix = fix_of(*run);
  fix.changes = {{"batch_size", "64", "8"}, {"dtype", "'float32'", "'bfloat16'"}};
  fix.saved_bytes = -5;
  const Json json = fix_json(*run, fix);
  EXPECT_EQ(json["arguments"], Json({"--batch_size=8", "--dtype=bfloat16"}));
  EXPECT_EQ(json["saved"], -5);
  EXPECT_EQ(json["time"], 1.25);
  EXPECT_NE(json["effect"], fix_json(*on_card, fix)["effect"]);  // no card has confirmed the bits
  fix.effect = fit::Effect::kSmallerModel;
  EXPECT_EQ(fix_json(*run, fix)["effect"], "another model");
}

TEST(PlanPage, IsSmall) {
  std::vector<std::unique_ptr<plan::RunPlan>> runs;
  for (std::int64_t i = 0; i < 20; ++i) {
    config::Config config;
    config.batch_size = config.eval_batch_size = std::int64_t{1} << (i % 7);
    config.eval_block_size = config.block_size;
    config.checkpoint_blocks = i % 13;
    runs.push_back(plan_of(config));
  }
  PlanPage page = page_of(*runs.front());
  const fit::Fix fix = fix_of(*runs.back());
  for (std::size_t i = 1; i < runs.size(); ++i) page.settings.push_back({"", runs[i].get(), &fix});
  EXPECT_LT(plan_page(page).size(), 700'000U);  // GPT-2 124M, 20 settings
}

}  // namespace
}  // namespace snug::report
