#include "report/plan/fix_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "config/diagnostic.h"
#include "fit/search.h"
#include "report/plan/fix_text.h"
#include "report/shell_command.h"
#include "report/text.h"

namespace snug {
namespace {

constexpr std::size_t kNameColumns = 26;

std::string time_text(double ratio) {
  const double percent = (ratio - 1) * 100;
  if (std::fabs(percent) < 0.5) return "0%";
  return fmt::format("{:+.0f}%", percent);
}

// GiB with two decimals under one heading, so that rows compare.
std::string gib(std::int64_t bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes) / static_cast<double>(kGiB));
}
std::string mib(std::int64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / static_cast<double>(kMiB));
}

std::string padded(const std::string& text, std::size_t columns) {
  const std::string cut = shortened(text, columns);
  return cut + std::string(columns - std::min(columns, column_count(cut)), ' ');
}

// A long name is broken after the last comma that leaves the first line whole.
std::pair<std::string, std::string> in_two_lines(const std::string& name) {
  if (column_count(name) <= kNameColumns) return {name, ""};
  const std::size_t comma = name.rfind(", ", kNameColumns - 1);
  if (comma == std::string::npos) return {name, ""};
  return {name.substr(0, comma + 1), name.substr(comma + 2)};
}

}  // namespace

std::string fix_table(const Fixes& all, std::size_t row_limit, bool on_card, bool color) {
  const std::vector<Fix>& fixes = all.ranked;
  const auto helping = static_cast<std::size_t>(
      std::count_if(fixes.begin(), fixes.end(), [](const Fix& fix) { return fix.helps(); }));
  std::size_t shown = 0;
  std::int64_t largest = 0;
  for (const Fix& fix : fixes) largest = std::max(largest, fix.total_bytes());
  const auto amount = largest >= kGiB ? gib : mib;
  std::string text =
      fmt::format("  Fixes, best first{:>{}} {:>5} {:>6} {:>6} {:>5}  result\n", "",
                  kNameColumns - 11, "batch", largest >= kGiB ? "GiB" : "MiB", "saved", "time");
  for (std::size_t i = 0; i < fixes.size(); ++i) {
    const Fix& fix = fixes[i];
    if (!fix.helps() || (shown >= row_limit && i > all.chosen_at.value_or(0))) continue;
    ++shown;
    const auto [first, rest] = in_two_lines(fix_name(all.before, fix));
    text += fmt::format(
        "{} {} {:>2}  {} {:>5} {:>6} {:>6} {:>5}  {}\n", i == all.chosen_at ? "▸" : " ",
        fix.fits ? painted(color, "32", "✔") : painted(color, "31", "✘"), shown,
        padded(first, kNameColumns), fix.effective_batch, amount(fix.total_bytes()),
        amount(fix.saved_bytes), time_text(fix.time_ratio), effect_text(fix.effect, on_card));
    if (!rest.empty()) text += fmt::format("        {}\n", rest);
  }
  if (shown < helping) {
    text += fmt::format("        {} more with --json or --html\n", helping - shown);
  }
  return text;
}

std::vector<std::string> as_arguments(const std::vector<Change>& changes) {
  std::vector<std::string> words;
  for (const Change& change : changes) {
    std::string value = change.after;
    std::erase(value, '\'');
    words.push_back(fmt::format("--{}={}", change.key, value));
  }
  return words;
}

std::string split_note(const Config& config) {
  const std::int64_t effective = effective_batch_of(config);
  const std::vector<std::int64_t> sizes = divisors(effective);
  const bool between = std::any_of(sizes.begin(), sizes.end(), [&](std::int64_t size) {
    return size > 1 && size < config.batch_size;
  });
  if (between || config.batch_size <= 2) return "";
  return fmt::format(
      "  {} sequences per update cannot be divided: no equal micro-batch lies between\n"
      "  {} and 1; an effective batch of {} could\n",
      effective, config.batch_size, (effective + 3) / 4 * 4);
}

std::string smallest_note(const Fixes& fixes) {
  const std::vector<std::string> changes = as_arguments(fixes.safest->changes);
  return fmt::format("the smallest need that trains the same is {}, and\n  {}\n{}",
                     format_bytes(fixes.safest->total_bytes()),
                     largest_part_text(fixes.safest_largest),
                     changes.empty() ? "" : wrapped_command("  with ", changes));
}

}  // namespace snug
