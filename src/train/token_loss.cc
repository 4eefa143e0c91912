#include "train/token_loss.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "gpt2/spec.h"
#include "plan/run_plan.h"
#include "report/plan/refusal.h"
#include "train/checkpoint_list.h"
#include "train/generate.h"

namespace snug::train {
namespace {

using Json = nlohmann::json;

[[noreturn]] void fail(const std::string& file, const std::string& what) {
  throw DataError(
      fmt::format("{}: {}\nwanted: {{\"tokens\": [[1, 2, 3]], \"targets\": [[2, 3, 4]]}}, rows of "
                  "one length, or "
                  "tokens alone",
                  file, what));
}

std::vector<std::int32_t> numbers(const Json& row, std::size_t number, const std::string& file) {
  if (!row.is_array()) fail(file, fmt::format("row {} is not a list", number));
  std::vector<std::int32_t> values;
  for (const Json& value : row) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= (1U << 30)) {
      fail(file, fmt::format("row {}, position {} is no token", number, values.size()));
    }
    values.push_back(value.get<std::int32_t>());
  }
  return values;
}

// All rows one after the other; every row has the length of the first.
std::vector<std::int32_t> all_rows(const Json& list, std::int64_t& length,
                                   const std::string& file) {
  if (!list.is_array() || list.empty()) fail(file, "holds no rows of tokens");
  const bool flat = list.front().is_number();
  const std::size_t count = flat ? 1 : list.size();
  std::vector<std::int32_t> all;
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<std::int32_t> row = numbers(flat ? list : list[i], i, file);
    if (i == 0) length = std::ssize(row);
    if (std::ssize(row) != length) {
      fail(file, fmt::format("row {} has {} tokens, row 0 has {}", i, row.size(), length));
    }
    all.insert(all.end(), row.begin(), row.end());
  }
  if (length == 0) fail(file, "its rows are empty");
  return all;
}

// Without targets: each token is the target of the one before it.
TokenRows shifted(const std::vector<std::int32_t>& all, std::int64_t length,
                  const std::string& file) {
  if (length < 2) fail(file, "a row of one token has nothing to predict");
  TokenRows rows;
  rows.row_count = std::ssize(all) / length;
  rows.length = length - 1;
  for (std::int64_t i = 0; i < std::ssize(all); ++i) {
    if ((i + 1) % length == 0) continue;
    rows.tokens.push_back(all[static_cast<std::size_t>(i)]);
    rows.targets.push_back(all[static_cast<std::size_t>(i + 1)]);
  }
  return rows;
}

void check_rows(const formats::Source& source, const TokenRows& rows) {
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

void add_losses(const formats::Source& source, const TokenRows& rows, const device::Device& device,
                report::Language language, TokenLoss& result) {
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
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows.row_count); ++row) {
    const auto tokens = std::span(rows.tokens).subspan(row * length, length);
    const auto targets = std::span(rows.targets).subspan(row * length, length);
    backend::write_elements<std::int32_t>(*executor, phase.host.tokens, 0, tokens);
    backend::write_elements<std::int32_t>(*executor, phase.host.targets, 0, targets);
    backend::StepContext context;
    context.sequence_count = 1;
    executor->run(phase, context);
    backend::read_elements(*executor, phase.host.losses, 0, std::span(losses));
    double sum = 0;
    for (const float loss : losses) sum += static_cast<double>(loss);
    result.mean += sum / static_cast<double>(rows.row_count * rows.length);
    result.rows.push_back(sum / static_cast<double>(rows.length));
  }
}

void add_logits(const formats::Source& source, const TokenRows& rows, const device::Device& device,
                report::Language language, TokenLoss& result) {
  const auto run = plan::plan_sampling(gpt2::make_model_spec(source.sizes), rows.length,
                                       DType::kF32, device.target());
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

TokenRows parse_token_rows(const std::string& text, const std::string& file) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) fail(file, "is not JSON");
  const bool named = json.is_object();
  if (named && !json.contains("tokens")) fail(file, "has no \"tokens\"");
  TokenRows rows;
  std::vector<std::int32_t> tokens = all_rows(named ? json.at("tokens") : json, rows.length, file);
  if (!named || !json.contains("targets")) return shifted(tokens, rows.length, file);
  rows.row_count = std::ssize(tokens) / rows.length;
  std::int64_t target_length = 0;
  rows.targets = all_rows(json.at("targets"), target_length, file);
  rows.tokens = std::move(tokens);
  if (rows.targets.size() != rows.tokens.size() || target_length != rows.length) {
    fail(file, fmt::format("{} tokens have {} targets", rows.tokens.size(), rows.targets.size()));
  }
  return rows;
}

TokenLoss loss_of(const formats::Source& source, const TokenRows& rows,
                  const device::Device& device, report::Language language, bool with_logits) {
  check_rows(source, rows);
  TokenLoss result;
  add_losses(source, rows, device, language, result);
  if (with_logits) add_logits(source, rows, device, language, result);
  return result;
}

}  // namespace snug::train
