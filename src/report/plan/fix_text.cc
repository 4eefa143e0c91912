#include "report/plan/fix_text.h"

#include <fmt/format.h>

#include <cmath>

#include "base/bytes.h"
#include "report/numbers.h"
#include "report/plan/words.h"

namespace snug::report {
namespace {

std::string text_of(std::int64_t number) { return std::to_string(number); }

std::string checkpoint_text(Language language, const config::Config& config) {
  if (config.checkpoint_blocks == 0) return text_in(language, PlanTextId::kNameNoCheckpointing);
  if (config.checkpoint_blocks == config.n_layer) {
    return text_in(language, PlanTextId::kNameCheckpointAll);
  }
  return text_in(language, PlanTextId::kNameCheckpoint,
                 {text_of(config.checkpoint_blocks), text_of(config.n_layer)});
}

std::string batch_text(Language language, const config::Config& config) {
  return text_in(language, PlanTextId::kNameBatch,
                 {text_of(config.batch_size), text_of(config.gradient_accumulation_steps)});
}

std::string recompute_text(Language language, const config::Config& config) {
  return text_in(language, config.recompute_light ? PlanTextId::kNameRecomputeLight
                                                  : PlanTextId::kNameRecomputeNothing);
}

// The settings that the search changes, each by its own words; other keys are not named.
std::vector<std::string> name_parts(Language language, const config::Config& before,
                                    const config::Config& after) {
  std::vector<std::string> parts;
  const auto add = [&](PlanTextId id, const std::string& value) {
    parts.push_back(text_in(language, id, {value}));
  };
  if (before.batch_size != after.batch_size) parts.push_back(batch_text(language, after));
  if (before.checkpoint_blocks != after.checkpoint_blocks) {
    parts.push_back(checkpoint_text(language, after));
  }
  if (before.recompute_light != after.recompute_light) {
    parts.push_back(recompute_text(language, after));
  }
  if (before.loss_chunk != after.loss_chunk) {
    add(PlanTextId::kNameLossChunk, text_of(after.loss_chunk));
  }
  const bool evaluation_follows =
      before.eval_batch_size == before.batch_size && after.eval_batch_size == after.batch_size;
  if (before.eval_batch_size != after.eval_batch_size && !evaluation_follows) {
    add(PlanTextId::kNameEvalBatch, text_of(after.eval_batch_size));
  }
  if (before.optimizer_dtype != after.optimizer_dtype) {
    add(PlanTextId::kNameOptimizer, after.optimizer_dtype);
  }
  if (before.dtype != after.dtype) parts.push_back(fmt::format("dtype {}", after.dtype));
  return parts;
}

std::string name_by_changes(Language language, const config::Config& before, const fit::Fix& fix) {
  std::vector<std::string> parts = name_parts(language, before, fix.config);
  if (parts.empty()) {
    for (const config::Change& change : fix.changes) {
      parts.push_back(fmt::format("{} {}", change.key, change.after));
    }
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// On its own, without the setting that it is made on top of.
std::string single_name(Language language, const config::Config& before, const fit::Fix& fix) {
  const config::Config& c = fix.config;
  const auto size = [&] { return number_in(language, millions(fix.reported_parameters)); };
  switch (fix.kind) {
    case fit::FixKind::kSmallest:
      return text_in(language, PlanTextId::kNameSafest);
    case fit::FixKind::kEvalBatch:
      return text_in(language, PlanTextId::kNameEvalBatch, {text_of(c.eval_batch_size)});
    case fit::FixKind::kEvalContext:
      return text_in(language, PlanTextId::kNameEvalContext, {text_of(c.eval_block_size)});
    case fit::FixKind::kOptimizer16:
      return text_in(language, PlanTextId::kNameOptimizer, {c.optimizer_dtype});
    case fit::FixKind::kDtype16:
      return fmt::format("dtype {}", c.dtype);
    case fit::FixKind::kFewerSequences:
    case fit::FixKind::kLargerBatch:
      return batch_text(language, c);
    case fit::FixKind::kShorterContext:
    case fit::FixKind::kLongerContext:
      return fmt::format("block_size {}", c.block_size);
    case fit::FixKind::kFewerLayers:
    case fit::FixKind::kMoreLayers:
      return fmt::format("n_layer {}: {}", c.n_layer, size());
    case fit::FixKind::kNarrower:
      return fmt::format("n_embd {}, n_head {}: {}", c.n_embd, c.n_head, size());
    case fit::FixKind::kSmallerPretrained:
      return fmt::format("init_from {}: {}", c.init_from, size());
    default:
      return name_by_changes(language, before, fix);
  }
}

std::string reason(Language language, const fit::FitOutcome& outcome) {
  const fit::Fix& fix = outcome.fix;
  const double percent = (fix.time_ratio - 1) * 100;
  const std::string rounded = fmt::format("{:.0f}", std::fabs(percent));
  const std::string time =
      std::fabs(percent) < 0.5
          ? text_in(language, PlanTextId::kFitSameTime)
          : text_in(language, percent > 0 ? PlanTextId::kFitMoreTime : PlanTextId::kFitLessTime,
                    {rounded});
  const std::string memory =
      text_in(language, fix.saved_bytes >= 0 ? PlanTextId::kFitLess : PlanTextId::kFitMore,
              {bytes_in(language, std::abs(fix.saved_bytes))});
  return text_in(language, PlanTextId::kFitReason,
                 {fix_name(language, outcome.before, fix), bytes_in(language, fix.total_bytes()),
                  memory, time});
}

PlanTextId effect_id(fit::Effect effect, bool on_card) {
  switch (effect) {
    case fit::Effect::kSame:
      return on_card ? PlanTextId::kEffectSame : PlanTextId::kEffectSameBits;
    case fit::Effect::kEvaluation:
      return PlanTextId::kEffectEvaluation;
    case fit::Effect::kReordered:
      return PlanTextId::kEffectReordered;
    case fit::Effect::kRounding:
      return PlanTextId::kEffectRounding;
    case fit::Effect::kFewerSequences:
      return PlanTextId::kEffectFewerSequences;
    case fit::Effect::kShorterContext:
      return PlanTextId::kEffectShorterContext;
    case fit::Effect::kSmallerModel:
      return PlanTextId::kEffectSmallerModel;
    case fit::Effect::kMoreSequences:
      return PlanTextId::kEffectMoreSequences;
    case fit::Effect::kLongerContext:
      return PlanTextId::kEffectLongerContext;
    case fit::Effect::kLargerModel:
      return PlanTextId::kEffectLargerModel;
  }
  return PlanTextId::kEffectSame;
}

}  // namespace

std::string fix_name(Language language, const config::Config& before, const fit::Fix& fix) {
  const std::string name = single_name(language, before, fix);
  return fix.on_smallest ? text_in(language, PlanTextId::kNameOnSafest, {name}) : name;
}

std::string effect_text(Language language, fit::Effect effect, bool on_card) {
  return text_in(language, effect_id(effect, on_card));
}

std::string largest_part_text(Language language, const fit::LargestPart& part) {
  const std::string bytes = bytes_in(language, part.bytes);
  if (!part.role) return text_in(language, PlanTextId::kLargestPartProgram, {bytes});
  const bool is_plural = *part.role == Role::kWeights || *part.role == Role::kGradients ||
                         *part.role == Role::kActivations;
  return text_in(language, is_plural ? PlanTextId::kLargestPartPlural : PlanTextId::kLargestPart,
                 {role_name(language, *part.role), bytes});
}

std::vector<std::string> fit_lines(const fit::FitOutcome& outcome, bool on_card,
                                   Language language) {
  std::vector<std::string> lines;
  switch (outcome.kind) {
    case fit::FitOutcome::Kind::kFitsAsIs:
      return {text_in(language, PlanTextId::kFitAsIs)};
    case fit::FitOutcome::Kind::kNothingFits:
      return {text_in(language, PlanTextId::kFitNothing)};
    case fit::FitOutcome::Kind::kChangedInVain:
      lines.push_back(text_in(language, PlanTextId::kFitInVain));
      break;
    case fit::FitOutcome::Kind::kChanged:
      break;
  }
  lines.push_back(reason(language, outcome));
  const bool may_differ = on_card || outcome.fix.effect == fit::Effect::kReordered;
  lines.push_back(text_in(language, !outcome.fix.same_result() ? PlanTextId::kFitRounded
                                    : may_differ               ? PlanTextId::kFitSame
                                                               : PlanTextId::kFitSameBits));
  lines.push_back(fit_changes_line(outcome, language));
  return lines;
}

std::string fit_changes_line(const fit::FitOutcome& outcome, Language language) {
  std::vector<std::string> changes;
  for (const config::Change& change : outcome.fix.changes) {
    changes.push_back(fmt::format("{} {} -> {}", change.key, change.before, change.after));
  }
  const std::string faster =
      outcome.for_speed ? fmt::format(" {}", text_in(language, PlanTextId::kFitFaster)) : "";
  return fmt::format("fit: {}{}", fmt::join(changes, ", "), faster);
}

}  // namespace snug::report
