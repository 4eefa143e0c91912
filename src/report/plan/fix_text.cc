#include "report/plan/fix_text.h"

#include <fmt/format.h>

#include <cmath>

#include "base/bytes.h"

namespace snug {
namespace {

std::string checkpoint_text(const Config& config) {
  if (config.checkpoint_blocks == 0) return "no checkpointing";
  if (config.checkpoint_blocks == config.n_layer) return "checkpoint all blocks";
  return fmt::format("checkpoint {} of {} blocks", config.checkpoint_blocks, config.n_layer);
}

std::string batch_text(const Config& config) {
  return fmt::format("batch {}, accumulate {}", config.batch_size,
                     config.gradient_accumulation_steps);
}

// The settings that the search changes, each by its own words; other keys are not named.
std::vector<std::string> name_parts(const Config& before, const Config& after) {
  std::vector<std::string> parts;
  if (before.batch_size != after.batch_size) parts.push_back(batch_text(after));
  if (before.checkpoint_blocks != after.checkpoint_blocks) parts.push_back(checkpoint_text(after));
  if (before.recompute_light != after.recompute_light) {
    parts.push_back(after.recompute_light ? "recompute light" : "recompute nothing");
  }
  if (before.loss_chunk != after.loss_chunk) {
    parts.push_back(fmt::format("loss chunk {}", after.loss_chunk));
  }
  const bool evaluation_follows =
      before.eval_batch_size == before.batch_size && after.eval_batch_size == after.batch_size;
  if (before.eval_batch_size != after.eval_batch_size && !evaluation_follows) {
    parts.push_back(fmt::format("evaluate {} at once", after.eval_batch_size));
  }
  if (before.optimizer_dtype != after.optimizer_dtype) {
    parts.push_back(fmt::format("optimizer state {}", after.optimizer_dtype));
  }
  if (before.dtype != after.dtype) parts.push_back(fmt::format("dtype {}", after.dtype));
  return parts;
}

std::string name_by_changes(const Config& before, const Fix& fix) {
  std::vector<std::string> parts = name_parts(before, fix.config);
  if (parts.empty()) {
    for (const Change& change : fix.changes) {
      parts.push_back(fmt::format("{} {}", change.key, change.after));
    }
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// On its own, without the setting that it is made on top of.
std::string single_name(const Config& before, const Fix& fix) {
  const Config& c = fix.config;
  switch (fix.kind) {
    case FixKind::kSmallest:
      return "safest";
    case FixKind::kEvalBatch:
      return fmt::format("evaluate {} at once", c.eval_batch_size);
    case FixKind::kEvalContext:
      return fmt::format("evaluate {} tokens long", c.eval_block_size);
    case FixKind::kOptimizer16:
      return fmt::format("optimizer state {}", c.optimizer_dtype);
    case FixKind::kDtype16:
      return fmt::format("dtype {}", c.dtype);
    case FixKind::kFewerSequences:
      return batch_text(c);
    case FixKind::kShorterContext:
      return fmt::format("block_size {}", c.block_size);
    case FixKind::kFewerLayers:
      return fmt::format("n_layer {}: {}", c.n_layer, millions(fix.reported_parameters));
    case FixKind::kNarrower:
      return fmt::format("n_embd {}, n_head {}: {}", c.n_embd, c.n_head,
                         millions(fix.reported_parameters));
    default:
      return name_by_changes(before, fix);
  }
}

std::string reason(const FitOutcome& outcome) {
  const Fix& fix = outcome.fix;
  const double percent = (fix.time_ratio - 1) * 100;
  const std::string time = std::fabs(percent) < 0.5 ? "the same time"
                           : percent > 0            ? fmt::format("{:.0f}% more time", percent)
                                                    : fmt::format("{:.0f}% less time", -percent);
  const std::string memory = fix.saved_bytes >= 0
                                 ? fmt::format("{} less", format_bytes(fix.saved_bytes))
                                 : fmt::format("{} more", format_bytes(-fix.saved_bytes));
  return fmt::format("fit: {}: needs {} ({}), about {} per token", fix_name(outcome.before, fix),
                     format_bytes(fix.total_bytes()), memory, time);
}

}  // namespace

std::string fix_name(const Config& before, const Fix& fix) {
  const std::string name = single_name(before, fix);
  return fix.on_smallest ? fmt::format("safest, {}", name) : name;
}

std::string effect_text(Effect effect, bool on_card) {
  switch (effect) {
    case Effect::kSame:
      return on_card ? "same" : "same bits";
    case Effect::kEvaluation:
      return "same, other eval";
    case Effect::kReordered:
    case Effect::kRounding:
      return "rounds otherwise";
    case Effect::kFewerSequences:
      return "noisier gradients";
    case Effect::kShorterContext:
      return "shorter context";
    case Effect::kSmallerModel:
      return "another model";
  }
  return "";
}

std::string largest_part_text(const LargestPart& part) {
  if (!part.role) {
    return fmt::format("the program itself takes up to {} of it", format_bytes(part.bytes));
  }
  const bool is_plural = *part.role == Role::kWeights || *part.role == Role::kGradients ||
                         *part.role == Role::kActivations;
  return fmt::format("{} alone {} {} of it", name_of(*part.role), is_plural ? "take" : "takes",
                     format_bytes(part.bytes));
}

std::vector<std::string> fit_lines(const FitOutcome& outcome, bool on_card) {
  std::vector<std::string> lines;
  switch (outcome.kind) {
    case FitOutcome::Kind::kFitsAsIs:
      return {"fit: it fits as it is, and nothing is predicted to be faster"};
    case FitOutcome::Kind::kNothingFits:
      return {"fit: nothing that keeps the effective batch fits"};
    case FitOutcome::Kind::kChangedInVain:
      lines.push_back("fit: nothing that keeps the effective batch fits; the smallest is");
      break;
    case FitOutcome::Kind::kChanged:
      break;
  }
  lines.push_back(reason(outcome));
  lines.push_back(!outcome.fix.same_result() ? "fit: the same training, rounded otherwise"
                  : on_card                  ? "fit: the same training"
                            : "fit: the trained weights stay the same, bit for bit");
  lines.push_back(fit_changes_line(outcome));
  return lines;
}

std::string fit_changes_line(const FitOutcome& outcome) {
  std::vector<std::string> changes;
  for (const Change& change : outcome.fix.changes) {
    changes.push_back(fmt::format("{} {} -> {}", change.key, change.before, change.after));
  }
  return fmt::format("fit: {}{}", fmt::join(changes, ", "), outcome.for_speed ? " (faster)" : "");
}

}  // namespace snug
