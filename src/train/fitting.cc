#include "train/fitting.h"

#include <fmt/format.h>

#include <cmath>

#include "base/bytes.h"
#include "config/fields.h"

namespace snug {
namespace {

std::string reason(const Fix& fix) {
  const double percent = (fix.time_ratio - 1) * 100;
  const std::string time = std::fabs(percent) < 0.5 ? "the same time"
                           : percent > 0            ? fmt::format("{:.0f}% more time", percent)
                                                    : fmt::format("{:.0f}% less time", -percent);
  const std::string memory = fix.saved_bytes >= 0
                                 ? fmt::format("{} less", format_bytes(fix.saved_bytes))
                                 : fmt::format("{} more", format_bytes(-fix.saved_bytes));
  return fmt::format("fit: {}: needs {} ({}), about {} per token", fix.name,
                     format_bytes(fix.total_bytes), memory, time);
}

}  // namespace

std::string changes_text(const std::vector<Change>& changes) {
  std::string text;
  for (const Change& change : changes) {
    text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", change.key, change.before,
                        change.after);
  }
  return text;
}

std::vector<std::string> apply_fix(LoadedConfig& config, const Fixes& fixes, bool on_card) {
  const auto fix = fix_to_apply(fixes, config.values);
  const bool nothing_fits = !fixes.fits_as_is && (!fix || !fix->fits);
  if (!fix || fix->changes.empty()) {
    if (nothing_fits) return {"fit: nothing that keeps the effective batch fits"};
    return {"fit: it fits as it is, and nothing is predicted to be faster"};
  }
  const bool chosen_anew = fixes.fits_as_is && !config.values.safest;
  std::vector<std::string> lines;
  if (nothing_fits)
    lines.push_back("fit: nothing that keeps the effective batch fits; the smallest is");
  lines.push_back(reason(*fix));
  lines.push_back(!fix->same_result() ? "fit: the same training, rounded otherwise"
                  : on_card           ? "fit: the same training"
                                      : "fit: the trained weights stay the same, bit for bit");
  lines.push_back(
      fmt::format("fit: {}{}", changes_text(fix->changes), chosen_anew ? " (faster)" : ""));
  for (const Change& change : fix->changes) {
    const Field& field = *find_field(change.key);
    assign_field(config.values, field, field_value(fix->config, field));
    Origin origin;
    origin.kind = Origin::Kind::kFit;
    config.origins[change.key] = origin;
  }
  resolve(config);
  return lines;
}

}  // namespace snug
