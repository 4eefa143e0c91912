#include "report/plan/fix_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "fit/search.h"
#include "report/catalogue/plan_texts.h"
#include "report/columns.h"
#include "report/numbers.h"
#include "report/plan/fix_text.h"
#include "report/shell_command.h"
#include "report/text.h"

namespace snug::report {
namespace {

constexpr std::size_t kNameColumns = 26, kPageColumns = 80;

std::string marked(fit::Verdict verdict, bool color) {
  switch (verdict) {
    case fit::Verdict::kFits:
      return painted(color, "32", "✔");
    case fit::Verdict::kBarelyFits:
      return painted(color, "33", "~");
    case fit::Verdict::kDoesNotFit:
      return painted(color, "31", "✘");
  }
  return " ";
}

// Sentences, wrapped to the page.
std::string note_lines(const std::string& sentence) {
  std::string text;
  for (const std::string& line : wrapped(sentence, kPageColumns - 2)) {
    text += fmt::format("  {}\n", line);
  }
  return text;
}

// Rows under one heading, so that they compare: all in GiB with two decimals, or all in MiB.
class Rows {
 public:
  Rows(const fit::Fixes& all, const fit::Budget& budget, const FixTableStyle& style,
       std::int64_t largest)
      : all_(all), budget_(budget), style_(style), in_gib_(largest >= kGiB) {}

  std::string heading(PlanTextId title) const {
    const auto word = [&](PlanTextId id) { return text_in(style_.language, id); };
    return fmt::format("  {} {} {} {} {}  {}\n", left(word(title), kNameColumns + 6),
                       right(word(PlanTextId::kHeadBatch), 5), right(in_gib_ ? "GiB" : "MiB", 6),
                       right(word(PlanTextId::kHeadSaved), 6),
                       right(word(PlanTextId::kHeadTime), 5), word(PlanTextId::kHeadResult));
  }

  std::string row(std::size_t number, const fit::Fix& fix, bool is_chosen) {
    const fit::Verdict verdict = fit::verdict_of(fix.total_bytes(), budget_);
    has_barely_ |= verdict == fit::Verdict::kBarelyFits;
    const std::string name = fix_name(style_.language, all_.before, fix);
    const std::vector<std::string> lines = wrapped(name, kNameColumns);
    std::string text = fmt::format(
        "{} {} {:>2}  {} {:>5} {:>6} {:>6} {:>5}  {}\n", is_chosen ? "▸" : " ",
        marked(verdict, style_.color), number, left(lines.front(), kNameColumns),
        fix.effective_batch, amount(fix.total_bytes()), amount(fix.saved_bytes),
        change_text(fix.time_ratio), effect_text(style_.language, fix.effect, style_.on_card));
    for (std::size_t i = 1; i < lines.size(); ++i) text += fmt::format("        {}\n", lines[i]);
    return text;
  }

  // Of the marks that the rows have, those that do not speak for themselves.
  std::string legend() const {
    if (!has_barely_) return "";
    const bool is_kept_free = budget_.headroom_is_default;
    return note_lines(text_in(
        style_.language, is_kept_free ? PlanTextId::kBarelyRowsAllowed : PlanTextId::kBarelyRows));
  }

 private:
  std::string amount(std::int64_t bytes) const {
    if (in_gib_) return gib_in(style_.language, bytes);
    return number_in(style_.language,
                     fmt::format("{:.1f}", static_cast<double>(bytes) / static_cast<double>(kMiB)));
  }

  const fit::Fixes& all_;
  const fit::Budget& budget_;
  const FixTableStyle& style_;
  bool in_gib_;
  bool has_barely_ = false;
};

std::int64_t largest_need(const std::vector<fit::Fix>& fixes) {
  std::int64_t largest = 0;
  for (const fit::Fix& fix : fixes) largest = std::max(largest, fix.total_bytes());
  return largest;
}

std::string percent_text(double share) { return fmt::format("{:.0f}%", share * 100); }

}  // namespace

std::string fix_table(const fit::Fixes& all, const fit::Budget& budget,
                      const FixTableStyle& style) {
  const std::vector<fit::Fix>& fixes = all.ranked;
  const auto helping = static_cast<std::size_t>(
      std::count_if(fixes.begin(), fixes.end(), [](const fit::Fix& fix) { return fix.helps(); }));
  Rows rows(all, budget, style, largest_need(fixes));
  std::string text = rows.heading(PlanTextId::kFixesTitle);
  std::size_t shown = 0;
  for (std::size_t i = 0; i < fixes.size(); ++i) {
    if (!fixes[i].helps() || (shown >= style.row_limit && i > all.chosen_at.value_or(0))) continue;
    text += rows.row(++shown, fixes[i], i == all.chosen_at);
  }
  if (shown < helping) {
    text += fmt::format("        {}\n", text_in(style.language, PlanTextId::kMoreRows,
                                                {std::to_string(helping - shown)}));
  }
  return text + rows.legend();
}

std::string spare_table(const fit::Fixes& all, const fit::Budget& budget,
                        const FixTableStyle& style) {
  const std::int64_t chosen = all.chosen ? all.chosen->total_bytes() : 0;
  Rows rows(all, budget, style, std::max(chosen, largest_need(all.spare)));
  std::string text = rows.heading(PlanTextId::kSpareTitle);
  std::size_t shown = 0;
  if (all.chosen) text += rows.row(++shown, *all.chosen, true);
  for (const fit::Fix& fix : all.spare) text += rows.row(++shown, fix, false);
  return text + rows.legend();
}

std::string choice_note(const fit::Fixes& fixes, const fit::Budget& budget, Language language,
                        double noise) {
  if (fixes.before.eval_only) return "";
  if (!fixes.chosen) {
    if (!fixes.fits_as_is) return "";
    std::string note = note_lines(text_in(language, PlanTextId::kWhyNothing));
    if (noise - 1 > fit::kWorthChanging) {
      note += note_lines(text_in(language, PlanTextId::kWhyBusy, {percent_text(noise - 1)}));
    }
    return note;
  }
  const fit::Fix& chosen = *fixes.chosen;
  if (fixes.fits_as_is) {
    return note_lines(
        text_in(language, PlanTextId::kWhyFaster, {percent_text(1 / chosen.time_ratio - 1)}));
  }
  if (!chosen.same_result()) return note_lines(text_in(language, PlanTextId::kWhyRounded));
  const std::int64_t spare = budget.limit_bytes() - chosen.total_bytes();
  return note_lines(text_in(language, PlanTextId::kWhyFastest, {bytes_in(language, spare)}));
}

std::vector<std::string> as_arguments(const std::vector<config::Change>& changes) {
  std::vector<std::string> words;
  for (const config::Change& change : changes) {
    std::string value = change.after;
    std::erase(value, '\'');
    words.push_back(fmt::format("--{}={}", change.key, value));
  }
  return words;
}

std::string split_note(Language language, const config::Config& config) {
  const std::int64_t effective = config::effective_batch_of(config);
  const std::vector<std::int64_t> sizes = fit::divisors(effective);
  const bool between = std::any_of(sizes.begin(), sizes.end(), [&](std::int64_t size) {
    return size > 1 && size < config.batch_size;
  });
  if (between || config.batch_size <= 2) return "";
  return note_lines(text_in(language, PlanTextId::kCannotDivide,
                            {std::to_string(effective), std::to_string(config.batch_size),
                             std::to_string((effective + 3) / 4 * 4)}));
}

std::string smallest_note(Language language, const fit::Fixes& fixes) {
  const std::vector<std::string> changes = as_arguments(fixes.safest->changes);
  const std::string with = fmt::format("  {} ", text_in(language, PlanTextId::kWith));
  return fmt::format("{}\n  {}\n{}",
                     text_in(language, PlanTextId::kSmallestNeed,
                             {bytes_in(language, fixes.safest->total_bytes())}),
                     largest_part_text(language, fixes.safest_largest),
                     changes.empty() ? "" : wrapped_command(with, changes));
}

}  // namespace snug::report
