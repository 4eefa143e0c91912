#include "train/token_loss.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "plan/run_plan.h"
#include "report/plan/refusal.h"
#include "train/checkpoint_list.h"
#include "train/generate.h"

namespace snug::train {
namespace {

// A token more than the model has positions, as a piece of a data set that gives tokens and
// targets: the last one is a target only.
data::TokenRows within(const data::TokenRows& rows, std::int64_t positions) {
  if (rows.length != positions + 1) return rows;
  data::TokenRows cut;
  cut.row_count = rows.row_count;
  cut.length = positions;
  for (std::size_t i = 0; i < rows.tokens.size(); ++i) {
    const bool is_last = static_cast<std::int64_t>(i + 1) % rows.length == 0;
    if (is_last && rows.targets[i] != data::kNoTarget) return rows;
    if (is_last) continue;
    cut.tokens.push_back(rows.tokens[i]);
    cut.targets.push_back(rows.targets[i]);
  }
  return cut;
}

void check_rows(const formats::Source& source, const data::TokenRows& rows) {
  const config::GptSizes& sizes = source.sizes;
  if (rows.length > sizes.block_size) {
    throw DataError(fmt::format("rows of {} tokens are too long: {} has {} positions", rows.length,
                                source.name, sizes.block_size));
  }
  for (const auto* list : {&rows.tokens, &rows.targets}) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      if ((*list)[i] < sizes.vocab_size) continue;
      throw DataError(fmt::format("token {} in row {} is not in the vocabulary of {}: it has {}",
                                  (*list)[i], static_cast<std::int64_t>(i) / rows.length,
                                  source.name, sizes.vocab_size));
    }
  }
}

void require_room(const plan::RunPlan& run, const device::Device& device,
                  report::Language language) {
  if (run.total_bytes() > device.budget().usable_bytes)
    throw report::does_not_fit(run, device.budget(), language);
}

config::Config evaluation_config(const formats::Source& source, std::int64_t length) {
  config::Config config;
  static_cast<config::GptSizes&>(config) = source.sizes;
  config.dropout = 0;
  config.eval_only = true;
  config.batch_size = config.eval_batch_size = config.gradient_accumulation_steps = 1;
  config.eval_block_size = length;
  config.dtype = "float32";
  return config;
}

void add_losses(const formats::Source& source, const data::TokenRows& rows,
                const device::Device& device, report::Language language, TokenLoss& result) {
  const auto run = plan::plan_training(evaluation_config(source, rows.length),
                                       source.sizes.vocab_size, device.target());
  require_room(*run, device, language);
  const auto executor = device.make_executor(run->program, run->plan);
  const CheckpointList list(run->program);
  backend::run_transfer(*executor, run->program.phase(program::PhaseKind::kLoad),
                        [&](TensorBytes& bytes) { formats::fill(source, list.tensors(&bytes)); });
  const program::Phase& phase = run->program.phase(program::PhaseKind::kEvaluate);
  const auto length = static_cast<std::size_t>(rows.length);
  std::vector<float> losses(length);
  std::vector<std::int32_t> wanted(length);
  double total = 0;
  std::int64_t counted = 0;
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows.row_count); ++row) {
    const auto tokens = std::span(rows.tokens).subspan(row * length, length);
    const auto targets = std::span(rows.targets).subspan(row * length, length);
    std::ranges::replace_copy(targets, wanted.begin(), data::kNoTarget,
                              0);  // its loss is not counted
    backend::write_elements<std::int32_t>(*executor, phase.host.tokens, 0, tokens);
    backend::write_elements<std::int32_t>(*executor, phase.host.targets, 0, wanted);
    backend::StepContext context;
    context.sequence_count = 1;
    executor->run(phase, context);
    backend::read_elements(*executor, phase.host.losses, 0, std::span(losses));
    double sum = 0;
    for (std::size_t i = 0; i < length; ++i) {
      if (targets[i] != data::kNoTarget) sum += static_cast<double>(losses[i]);
    }
    const std::int64_t in_row = std::ssize(targets) - std::ranges::count(targets, data::kNoTarget);
    result.rows.push_back(sum / static_cast<double>(std::max<std::int64_t>(in_row, 1)));
    total += sum;
    counted += in_row;
  }
  result.mean = total / static_cast<double>(std::max<std::int64_t>(counted, 1));
  result.target_count = counted;
}

void add_logits(const formats::Source& source, const data::TokenRows& rows,
                const device::Device& device, report::Language language, TokenLoss& result) {
  const auto run = plan::plan_sampling(source.model(), rows.length, DType::kF32, device.target());
  require_room(*run, device, language);
  Generator generator(*run, device);
  generator.load(source);
  for (std::int64_t row = 0; row < rows.row_count; ++row) {
    const auto tokens = std::span(rows.tokens)
                            .subspan(static_cast<std::size_t>(row * rows.length),
                                     static_cast<std::size_t>(rows.length));
    const std::span<const float> logits = generator.logits_after_all(tokens);
    result.logits.emplace_back(logits.begin(), logits.end());
  }
}

}  // namespace

TokenLoss loss_of(const formats::Source& source, const data::TokenRows& given,
                  const device::Device& device, report::Language language, bool with_logits) {
  const data::TokenRows rows = within(given, source.sizes.block_size);
  check_rows(source, rows);
  TokenLoss result;
  add_losses(source, rows, device, language, result);
  if (with_logits) add_logits(source, rows, device, language, result);
  return result;
}

}  // namespace snug::train
