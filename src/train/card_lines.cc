#include "train/card_lines.h"

#include <fmt/format.h>

#include "base/bytes.h"

namespace snug::train {
namespace {

constexpr std::size_t kMaxHolders = 4;

std::string holder_text(const device::CardHolder& holder) {
  return fmt::format("{} (pid {}){}", holder.name, holder.pid,
                     holder.bytes ? " " + format_bytes(*holder.bytes) : "");
}

}  // namespace

std::string holders_line(const device::CardFacts& card) {
  if (card.holders.empty()) return "";
  std::string line = "others are on the card: ";
  for (std::size_t i = 0; i < card.holders.size() && i < kMaxHolders; ++i) {
    line += (i == 0 ? "" : ", ") + holder_text(card.holders[i]);
  }
  if (card.holders.size() > kMaxHolders) {
    line += fmt::format(" and {} more", card.holders.size() - kMaxHolders);
  }
  return line;
}

std::vector<std::string> card_lines(const std::optional<device::CardFacts>& card) {
  if (!card) return {};
  std::vector<std::string> lines;
  lines.push_back(
      fmt::format("card: {}, {} of {} free for the run{}", card->name,
                  format_bytes(card->free_bytes), format_bytes(card->total_bytes),
                  card->is_emulated ? "; emulated on the processor: its times mean nothing" : ""));
  if (const std::string others = holders_line(*card); !others.empty()) lines.push_back(others);
  if (card->may_spill_to_host) {
    lines.push_back(
        "WSL2: Windows may move a card's memory to system memory without a word, and a run is then "
        "many times slower: if others need the card meanwhile, set \"CUDA - Sysmem Fallback "
        "Policy\" to \"Prefer No Sysmem Fallback\" in NVIDIA's control panel");
  }
  return lines;
}

}  // namespace snug::train
