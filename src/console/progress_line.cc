#include "console/progress_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "console/console.h"

namespace snug::console {
namespace {

constexpr std::size_t kMaxBarCells = 20, kMinBarCells = 6;
constexpr std::size_t kBarFrame = 3;  // a space before it and its two ends

// "12.03/40.90 MiB", or "812.00 KiB/40.90 MiB" where the units differ.
std::string byte_pair(std::int64_t used, std::int64_t planned) {
  std::string first = format_bytes(used);
  const std::string second = format_bytes(planned);
  const std::size_t unit = first.find(' ');
  if (first.substr(unit) == second.substr(second.find(' '))) first.resize(unit);
  return first + "/" + second;
}

}  // namespace

// Fields are as wide as they can become in this run, so that the line keeps its shape while digits
// change. Everything but the bar is ASCII: a byte is a column.
std::string progress_line(const ProgressFacts& facts, std::size_t columns) {
  const std::string last = fmt::format("{}", facts.last_iteration);
  const std::string head = fmt::format("iter {:>{}}/{}", facts.iteration, last.size(), last);
  const std::string loss =
      std::isfinite(facts.loss) ? fmt::format(" loss {:<7.4f}", facts.loss) : std::string(13, ' ');
  const std::size_t needed = head.size() + loss.size();
  std::size_t room = columns > needed ? columns - needed : 0;
  const auto if_it_fits = [&](const std::string& part) {
    if (part.size() > room) return std::string();
    room -= part.size();
    return part;
  };
  const std::string eta =
      if_it_fits(fmt::format("  ETA {:<7}", format_duration(facts.seconds_left)));
  const std::string rate = if_it_fits(
      fmt::format("  {:>7} tok/s", with_thousands(std::llround(facts.tokens_per_second))));
  const std::size_t pair_width =
      std::max(byte_pair(facts.planned_bytes, facts.planned_bytes).size(),
               byte_pair(facts.resident_bytes, facts.planned_bytes).size());
  const std::string memory = if_it_fits(fmt::format(
      "  mem {:>{}}", byte_pair(facts.resident_bytes, facts.planned_bytes), pair_width));
  const std::string known = std::isfinite(facts.val_loss)
                                ? fmt::format("  val {:.4f}{}", facts.val_loss, facts.val_note)
                                : "";
  const std::string val_text = fmt::format("{:<{}}", known, 13 + facts.val_note.size());
  const std::string val = if_it_fits(val_text);
  std::string bar;
  if (room >= kMinBarCells + kBarFrame) {
    const std::size_t cells = std::min(room - kBarFrame, kMaxBarCells);
    bar = " " + progress_bar(facts.done_share, static_cast<int>(cells));
  }
  return head + bar + loss + val + rate + memory + eta;
}

}  // namespace snug::console
