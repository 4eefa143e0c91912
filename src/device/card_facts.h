// A card that a run starts on, as it stands now: what is free of it and who holds the rest. Data
// for those who tell it (train/card_lines.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/cuda/card.h"
#include "backend/cuda/nvml.h"

namespace snug::device {

struct CardHolder {
  std::int64_t pid = 0;
  std::string name;                   // "firefox"; "?": this system does not show the process
  std::optional<std::int64_t> bytes;  // the driver does not always tell
};

struct CardFacts {
  std::string name;
  int index = 0;
  bool is_emulated = false;
  std::int64_t total_bytes = 0, free_bytes = 0;  // free: what a run may take
  std::vector<CardHolder> holders;               // other processes, the largest first
  // Windows gives out system memory where the card's is used up, and tells nobody.
  bool may_spill_to_host = false;
};

// The processes on the card but this one.
std::vector<CardHolder> holders_of(const cuda::OpenCard& card, const cuda::CardsReading& reading);

}  // namespace snug::device
