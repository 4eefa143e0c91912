// The fixes: the table, the configs to take, and how to make what no key makes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "report/doctor_content.h"

namespace snug {
namespace {

constexpr std::size_t kFixesShown = 14;

std::string millions(std::int64_t parameters) {
  return fmt::format("{:.1f}M", static_cast<double>(parameters) / 1e6);
}

std::vector<std::string> name_arguments(const DoctorReport& report, const TorchFix& fix) {
  const Config& c = fix.config;
  const auto text = [](std::int64_t number) { return std::to_string(number); };
  switch (fix.kind) {
    case TorchFixKind::kSplit:
      return {text(c.batch_size), text(c.gradient_accumulation_steps)};
    case TorchFixKind::kEvalBatch:
      return {text(evaluation_rows(report, &fix))};
    case TorchFixKind::kCheckpoint:
      return {text(checkpointed_blocks(report, &fix)), text(c.n_layer)};
    case TorchFixKind::kDtype16:
      return {c.dtype};
    case TorchFixKind::kFewerSequences:
      return {text(fix.effective_batch)};
    case TorchFixKind::kShorterContext:
      return {text(c.block_size)};
    case TorchFixKind::kFewerLayers:
      return {text(c.n_layer), millions(fix.parameters)};
    case TorchFixKind::kNarrower:
      return {text(c.n_embd), text(c.n_head), millions(fix.parameters)};
    default:
      return {};
  }
}

Word fix_how(const TorchFix& fix) {
  if (fix.kind == TorchFixKind::kAllocator) return Word::kHowVariable;
  if (fix.kind == TorchFixKind::kFreeOthers) return Word::kHowByHand;
  return fix.needs_edit ? Word::kHowEdit : Word::kHowKey;
}

std::string time_text(double ratio) {
  if (ratio >= 3) return fmt::format("× {:.0f}", ratio);
  const double percent = (ratio - 1) * 100;
  return std::fabs(percent) < 0.5 ? "0%" : fmt::format("{:+.0f}%", percent);
}

bool is_of_the_card(const TorchFix& fix) { return fix.vram.high_bytes > 0; }

// "5.21–6.02" in one unit for the whole column.
std::string vram_text(const TorchFix& fix, std::int64_t unit) {
  if (!is_of_the_card(fix)) return "–";
  const auto amount = [&](std::int64_t bytes) {
    return fmt::format("{:.2f}", static_cast<double>(bytes) / static_cast<double>(unit));
  };
  const std::string low = amount(fix.vram.low_bytes), high = amount(fix.vram.high_bytes);
  return low == high ? low : fmt::format("{}–{}", low, high);
}

std::int64_t unit_of(const std::vector<TorchFix>& fixes) {
  std::int64_t most = 0;
  for (const TorchFix& fix : fixes) most = std::max(most, fix.vram.high_bytes);
  return most >= kGiB ? kGiB : kMiB;
}

Tone mark_of(const DoctorReport& report, const TorchFix& fix) {
  if (report.card_bytes <= 0 || !is_of_the_card(fix)) return Tone::kPlain;
  return fix.fits ? Tone::kGood : Tone::kBad;
}

DoctorTable fix_table_of(const DoctorReport& report) {
  const Language language = report.language;
  const std::vector<TorchFix>& fixes = report.fixes->ranked;
  const std::int64_t unit = unit_of(fixes);
  DoctorTable table;
  table.title = say(language, Word::kFixesTitle);
  table.has_marks = true;
  table.rows_in_text = kFixesShown;
  if (fixes.size() > kFixesShown) {
    table.more = say(language, Word::kMoreFixes, {std::to_string(fixes.size() - kFixesShown)});
  }
  table.columns = {{say(language, Word::kHeadFix), 24, false},
                   {say(language, Word::kHeadVram, {unit == kGiB ? "GiB" : "MiB"}), 11, true},
                   {say(language, Word::kHeadBatch), 6, true},
                   {say(language, Word::kHeadTime), 5, true},
                   {say(language, Word::kHeadEffect), 12, false},
                   {say(language, Word::kHeadHow), 7, false}};
  for (const TorchFix& fix : fixes) {
    table.rows.push_back(
        {mark_of(report, fix),
         {fix_name(report, fix), vram_text(fix, unit), std::to_string(fix.effective_batch),
          time_text(fix.time_ratio), say(language, fix_effect(fix)), say(language, fix_how(fix))}});
  }
  return table;
}

std::vector<std::string> key_lines(const TorchFix& fix) {
  std::vector<std::string> lines;
  for (const Change& change : fix.changes) {
    lines.push_back(fmt::format("{} = {}", change.key, change.after));
  }
  return lines;
}

// A split that comes with checkpointing has no kind of its own.
bool has_checkpointing(const TorchFix& fix) {
  return fix.kind == TorchFixKind::kSplit && fix.needs_edit;
}

DoctorCode config_block(const DoctorReport& report, Word title, const TorchFix& fix) {
  const Language language = report.language;
  std::vector<std::string> parts = {fix_name(report, fix)};
  if (has_checkpointing(fix)) {
    const std::string layers = std::to_string(fix.config.n_layer);
    parts.push_back(say(language, name_texts(TorchFixKind::kCheckpoint), {layers, layers}));
  }
  if (is_of_the_card(fix)) {
    parts.push_back(say(language, Word::kVramAfter, {range_text(language, fix.vram)}));
  }
  return {say(language, title), fmt::format("{}", fmt::join(parts, " · ")), key_lines(fix)};
}

void add_configs(const DoctorReport& report, DoctorContent& content) {
  const TorchFixes& fixes = *report.fixes;
  if (fixes.recommended) {
    content.blocks.push_back(config_block(report, Word::kRecommendedTitle, *fixes.recommended));
  }
  if (!fixes.safest) return;
  const bool same = fixes.recommended &&
                    key_lines(*fixes.recommended) == key_lines(*fixes.safest) &&
                    fixes.recommended->needs_edit == fixes.safest->needs_edit;
  DoctorCode block = config_block(report, Word::kSafestTitle, *fixes.safest);
  if (same) block = {block.title, say(report.language, Word::kSafestIsRecommended), {}};
  content.blocks.push_back(std::move(block));
}

// Kinds that take more than a key, each once, in the order of the table.
std::vector<TorchFixKind> kinds_to_explain(const DoctorReport& report) {
  std::vector<TorchFixKind> kinds;
  const auto add = [&](TorchFixKind kind) {
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  };
  const Cause cause = report.diagnosis ? report.diagnosis->cause : Cause::kUnknown;
  if (cause == Cause::kFragmentation) add(TorchFixKind::kAllocator);
  if (cause == Cause::kCoTenant) add(TorchFixKind::kFreeOthers);
  if (report.fixes == nullptr) return kinds;
  for (const auto& fix : {report.fixes->recommended, report.fixes->safest}) {
    if (fix && has_checkpointing(*fix)) add(TorchFixKind::kCheckpoint);
  }
  for (const TorchFix& fix : report.fixes->ranked) {
    if (!fix_code(report, fix.kind).empty()) add(fix.kind);
  }
  return kinds;
}

std::string name_of_kind(const DoctorReport& report, TorchFixKind kind) {
  if (report.fixes != nullptr) {
    for (const TorchFix& fix : report.fixes->ranked) {
      if (fix.kind == kind) return fix_name(report, fix);
    }
  }
  TorchFix fix{};
  fix.kind = kind;
  if (report.memory != nullptr) fix.config.n_layer = report.memory->run.n_layer;
  return fix_name(report, fix);
}

}  // namespace

std::string fix_name(const DoctorReport& report, const TorchFix& fix) {
  return say(report.language, name_texts(fix.kind),
             std::span<const std::string>(name_arguments(report, fix)));
}

Word fix_effect(const TorchFix& fix) {
  switch (fix.kind) {
    case TorchFixKind::kCompileOn:
    case TorchFixKind::kDtype16:
      return Word::kEffectRounding;
    case TorchFixKind::kEightBitAdam:
      return Word::kEffectEightBit;
    case TorchFixKind::kFewerSequences:
      return Word::kEffectFewerSequences;
    case TorchFixKind::kShorterContext:
      return Word::kEffectShorterContext;
    case TorchFixKind::kFewerLayers:
    case TorchFixKind::kNarrower:
      return Word::kEffectSmallerModel;
    default:
      return fix.same_training ? Word::kEffectSame : Word::kEffectOther;
  }
}

void add_fixes(const DoctorReport& report, DoctorContent& content) {
  const Language language = report.language;
  if (report.fixes != nullptr && !report.fixes->ranked.empty()) {
    DoctorTable table = fix_table_of(report);
    const bool fits = !report.diagnosis && content.tone == Tone::kGood;
    if (!report.fixes->recommended && report.card_bytes > 0) {
      table.lines.push_back(say(language, fits ? Word::kFitsAsItIs : Word::kNoneFits));
    }
    content.blocks.push_back(std::move(table));
    add_configs(report, content);
  }
  for (const TorchFixKind kind : kinds_to_explain(report)) {
    content.blocks.push_back(
        DoctorCode{say(language, Word::kHowToTitle, {name_of_kind(report, kind)}),
                   say(language, action_texts(kind)), fix_code(report, kind)});
  }
}

}  // namespace snug
