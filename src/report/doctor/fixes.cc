// The fixes: the table, the configs to take, and how to make what no key makes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "report/doctor/content.h"
#include "report/numbers.h"
#include "report/text.h"

namespace snug::report {
namespace {

constexpr std::size_t kFixesShown = 14;

std::vector<std::string> name_arguments(Language language, const fit::Fix& fix) {
  const config::Config& c = fix.config;
  const auto text = [](std::int64_t number) { return std::to_string(number); };
  const std::string size = millions_in(language, fix.reported_parameters);
  switch (fix.kind) {
    case fit::FixKind::kSplit:
      return {text(c.batch_size), text(c.gradient_accumulation_steps)};
    case fit::FixKind::kEvalBatch:
      return {text(fix.config.eval_batch_size)};
    case fit::FixKind::kEvalContext:
      return {text(fix.config.eval_block_size)};
    case fit::FixKind::kCheckpoint:
      return {text(fix.config.checkpoint_blocks), text(fix.config.n_layer)};
    case fit::FixKind::kDtype16:
      return {c.dtype};
    case fit::FixKind::kFewerSequences:
      return {text(fix.effective_batch)};
    case fit::FixKind::kShorterContext:
      return {text(c.block_size)};
    case fit::FixKind::kFewerLayers:
      return {text(c.n_layer), size};
    case fit::FixKind::kNarrower:
      return {text(c.n_embd), text(c.n_head), size};
    case fit::FixKind::kSmallerPretrained:
      return {c.init_from, size};
    default:
      return {};
  }
}

TextId fix_how(const fit::Fix& fix) {
  if (fix.kind == fit::FixKind::kAllocator) return TextId::kHowVariable;
  if (fix.kind == fit::FixKind::kFreeOthers) return TextId::kHowByHand;
  return fix.needs_edit ? TextId::kHowEdit : TextId::kHowKey;
}

// At most four or five characters, whatever the figure: "9999", "123k", "1.2M".
std::string count_text(double count) {
  if (count < 9999.5) return fmt::format("{:.0f}", count);
  if (count < 999.5e3) return fmt::format("{:.0f}k", count / 1e3);
  return fmt::format("{:.{}f}M", count / 1e6, count < 9.95e6 ? 1 : 0);
}

std::string batch_text(Language language, std::int64_t batch) {
  return batch < 1000000 ? std::to_string(batch)
                         : number_in(language, count_text(static_cast<double>(batch)));
}

std::string time_text(Language language, double ratio) {
  return ratio >= 3 ? fmt::format("×{}", number_in(language, count_text(ratio)))
                    : change_text(ratio);
}

// "5.21–6.02" in one unit for the whole column, in at most eleven characters: "215–1063".
std::string vram_text(const DoctorReport& report, const fit::Fix& fix, std::int64_t unit) {
  if (!fix.concerns_device()) return "–";
  const ByteRange need = without_context(report.memory, fix.need);
  const auto in_units = [&](std::int64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(unit);
  };
  const double highest = in_units(need.high_bytes);
  const int decimals = highest < 99.995 ? 2 : highest < 999.95 ? 1 : 0;
  const auto amount = [&](std::int64_t bytes) {
    return number_in(report.language, fmt::format("{:.{}f}", in_units(bytes), decimals));
  };
  const std::string low = amount(need.low_bytes), high = amount(need.high_bytes);
  return low == high ? low : fmt::format("{}–{}", low, high);
}

std::int64_t unit_of(const std::vector<fit::Fix>& fixes) {
  std::int64_t largest = 0;
  for (const fit::Fix& fix : fixes) largest = std::max(largest, fix.need.high_bytes);
  if (largest >= 10000 * kGiB) return 1024 * kGiB;
  return largest >= kGiB ? kGiB : kMiB;
}

std::string unit_name(std::int64_t unit) {
  return unit == kMiB ? "MiB" : unit == kGiB ? "GiB" : "TiB";
}

Tone mark_of(const DoctorReport& report, const fit::Fix& fix) {
  if (report.card_bytes <= 0 || !fix.concerns_device()) return Tone::kPlain;
  return fix.fits ? Tone::kGood : Tone::kBad;
}

DoctorTable fix_table_of(const DoctorReport& report) {
  const Language language = report.language;
  const std::vector<fit::Fix>& fixes = report.fixes->ranked;
  const std::int64_t unit = unit_of(fixes);
  DoctorTable table;
  table.title = text_in(language, TextId::kFixesTitle);
  table.has_marks = true;
  table.rows_in_text = kFixesShown;
  if (fixes.size() > kFixesShown) {
    table.more =
        text_in(language, TextId::kMoreFixes, {std::to_string(fixes.size() - kFixesShown)});
  }
  table.columns = {{text_in(language, TextId::kHeadFix), 24, false},
                   {text_in(language, TextId::kHeadVram, {unit_name(unit)}), 11, true},
                   {text_in(language, TextId::kHeadBatch), 6, true},
                   {text_in(language, TextId::kHeadTime), 5, true},
                   {text_in(language, TextId::kHeadEffect), 12, false},
                   {text_in(language, TextId::kHeadHow), 7, false}};
  for (const fit::Fix& fix : fixes) {
    table.rows.push_back(
        {mark_of(report, fix),
         {fix_name(report, fix), vram_text(report, fix, unit),
          batch_text(language, fix.effective_batch), time_text(language, fix.time_ratio),
          text_in(language, fix_effect(fix)), text_in(language, fix_how(fix))}});
  }
  return table;
}

// Against what the marks are counted, where a log has told it.
std::string limit_line(const DoctorReport& report) {
  const Language language = report.language;
  const std::string given = bytes_in(language, report.given_bytes());
  if (report.card == nullptr) return text_in(language, TextId::kAgainstLog, {given});
  const std::int64_t assumed =
      fit::process_bytes(*report.card) - fit::cuda_context(*report.card).high_bytes;
  if (report.given_bytes() <= assumed) return text_in(language, TextId::kAgainstLog, {given});
  return text_in(language, TextId::kAgainstLogHeadless, {given, bytes_in(language, assumed)});
}

std::vector<std::string> key_lines(const fit::Fix& fix) {
  std::vector<std::string> lines;
  for (const config::Change& change : fix.changes) {
    lines.push_back(fmt::format("{} = {}", change.key, change.after));
  }
  return lines;
}

// Its other half, as a fix of its own.
fit::Fix as_checkpointing(fit::Fix fix) {
  fix.kind = fit::FixKind::kCheckpoint;
  return fix;
}

DoctorCode config_block(const DoctorReport& report, TextId title, const fit::Fix& fix) {
  const Language language = report.language;
  std::vector<std::string> parts = {fix_name(report, fix)};
  if (has_checkpointing(fix)) {
    parts.push_back(fix_name(report, as_checkpointing(fix)));
  }
  if (fix.concerns_device()) {
    parts.push_back(text_in(language, TextId::kVramAfter,
                            {range_text(language, without_context(report.memory, fix.need))}));
  }
  return {text_in(language, title), fmt::format("{}", fmt::join(parts, " · ")), key_lines(fix)};
}

// "Tried on PyTorch's allocator": what decides and what is left.
std::string proof_text(const DoctorReport& report) {
  const doctor::fixes::TorchProof& proof = *report.proof;
  const Language language = report.language;
  const double percent = 100 * doctor::fixes::torch_tolerance(report.memory->run);
  const std::string line =
      text_in(language, TextId::kProofLine,
              {text_in(language, texts_of(proof.phase)), bytes_in(language, proof.spare_bytes),
               bytes_in(language, report.given_bytes()), percent_in(language, percent)});
  if (proof.survives_resume) return line;
  return sentences(language, line, text_in(language, TextId::kProofResume));
}

void add_configs(const DoctorReport& report, DoctorContent& content) {
  const fit::Fixes& fixes = *report.fixes;
  if (fixes.chosen) {
    DoctorCode block = config_block(report, TextId::kRecommendedTitle, *fixes.chosen);
    if (report.proof && report.memory != nullptr) {
      block.note = fmt::format("{} · {}", block.note, proof_text(report));
    }
    content.blocks.push_back(std::move(block));
  }
  if (!fixes.safest) return;
  const bool same = fixes.chosen && key_lines(*fixes.chosen) == key_lines(*fixes.safest) &&
                    fixes.chosen->needs_edit == fixes.safest->needs_edit;
  DoctorCode block = config_block(report, TextId::kSafestTitle, *fixes.safest);
  if (same) block = {block.title, text_in(report.language, TextId::kSafestIsRecommended), {}};
  content.blocks.push_back(std::move(block));
}

// What stands in for expandable segments where PyTorch has none.
bool is_max_split(const DoctorReport& report, fit::FixKind kind) {
  using doctor::diagnosis::AllocatorAdvice;
  if (kind != fit::FixKind::kAllocator || !report.diagnosis) return false;
  const AllocatorAdvice advice = report.diagnosis->allocator_advice;
  return advice == AllocatorAdvice::kMaxSplit || advice == AllocatorAdvice::kMaxSplitWindows;
}

std::string fix_action(const DoctorReport& report, fit::FixKind kind) {
  if (is_max_split(report, kind)) return text_in(report.language, TextId::kMaxSplitAction);
  return text_in(report.language, action_texts(kind));
}

// What takes more than a key, each kind once, in the order of the table.
std::vector<fit::Fix> fixes_to_explain(const DoctorReport& report) {
  std::vector<fit::Fix> fixes;
  const auto add = [&](const fit::Fix& fix) {
    const bool is_known = std::any_of(fixes.begin(), fixes.end(),
                                      [&](const fit::Fix& f) { return f.kind == fix.kind; });
    if (!is_known && !fix_code(report, fix).empty()) fixes.push_back(fix);
  };
  const auto add_kind = [&](fit::FixKind kind) {
    fit::Fix fix{};
    fix.kind = kind;
    add(fix);
  };
  const doctor::diagnosis::Cause cause =
      report.diagnosis ? report.diagnosis->cause : doctor::diagnosis::Cause::kUnknown;
  const bool has_setting = report.diagnosis && report.diagnosis->allocator_advice !=
                                                   doctor::diagnosis::AllocatorAdvice::kNone;
  if (cause == doctor::diagnosis::Cause::kFragmentation && has_setting) {
    add_kind(fit::FixKind::kAllocator);
  }
  if (cause == doctor::diagnosis::Cause::kCoTenant) add_kind(fit::FixKind::kFreeOthers);
  if (report.fixes == nullptr) return fixes;
  for (const auto& fix : {report.fixes->chosen, report.fixes->safest}) {
    if (fix && has_checkpointing(*fix)) add(as_checkpointing(*fix));
  }
  for (const fit::Fix& fix : report.fixes->ranked) add(fix);
  return fixes;
}

}  // namespace

std::string fix_name(const DoctorReport& report, const fit::Fix& fix) {
  if (is_max_split(report, fix.kind)) return text_in(report.language, TextId::kMaxSplitName);
  return text_in(report.language, name_texts(fix.kind),
                 std::span<const std::string>(name_arguments(report.language, fix)));
}

TextId fix_effect(const fit::Fix& fix) {
  if (fix.kind == fit::FixKind::kEightBitAdam) return TextId::kEffectEightBit;
  switch (fix.effect) {
    case fit::Effect::kSame:
      return TextId::kEffectSame;
    case fit::Effect::kEvaluation:
      return TextId::kEffectEvaluation;
    case fit::Effect::kReordered:
    case fit::Effect::kRounding:
      return TextId::kEffectRounding;
    case fit::Effect::kFewerSequences:
      return TextId::kEffectFewerSequences;
    case fit::Effect::kShorterContext:
      return TextId::kEffectShorterContext;
    case fit::Effect::kSmallerModel:
    case fit::Effect::kMoreSequences:  // Snug's, as those below
    case fit::Effect::kLongerContext:
    case fit::Effect::kLargerModel:
      break;
  }
  return TextId::kEffectSmallerModel;
}

bool has_checkpointing(const fit::Fix& fix) {
  return fix.kind == fit::FixKind::kSplit && fix.needs_edit;
}

void add_fixes(const DoctorReport& report, DoctorContent& content) {
  const Language language = report.language;
  if (report.fixes != nullptr && !report.fixes->ranked.empty()) {
    DoctorTable table = fix_table_of(report);
    const fit::Fixes& fixes = *report.fixes;
    if (!fixes.chosen && report.card_bytes > 0) {
      const TextId word = fixes.fits_as_is ? TextId::kFitsAsItIs : TextId::kNoneFits;
      table.lines.push_back(text_in(language, word));
    }
    if (report.diagnosis && report.diagnosis->free_bytes && report.card_bytes > 0)
      table.lines.push_back(limit_line(report));
    content.blocks.push_back(std::move(table));
    add_configs(report, content);
  }
  for (const fit::Fix& fix : fixes_to_explain(report)) {
    content.blocks.push_back(
        DoctorCode{text_in(language, TextId::kHowToTitle, {fix_name(report, fix)}),
                   fix_action(report, fix.kind), fix_code(report, fix)});
  }
}

}  // namespace snug::report
