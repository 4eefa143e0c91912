// Texts, frames and stacks of a snapshot, each kept once. All are bounded: what is beyond becomes
// the empty text or the empty stack, and `is_cut` of the snapshot says so.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "doctor/snapshot/snapshot.h"

namespace snug::doctor::snapshot {

class Tables {
 public:
  static constexpr std::size_t kTexts = 1 << 19, kTextBytes = 32 << 20, kTextLength = 512;
  static constexpr std::size_t kFrames = 1 << 19;
  static constexpr std::size_t kStacks = 1 << 18, kStackFrames = 4 << 20, kStackDepth = 512;

  // `out` outlives this and has its empty text and empty stack already.
  explicit Tables(Snapshot& out);

  std::uint32_t text(std::string_view text);
  std::uint32_t frame(const Frame& frame);
  std::uint32_t stack(const std::vector<std::uint32_t>& frames);

 private:
  Snapshot& out_;
  std::deque<std::string> kept_;  // what the keys of texts_ point into
  std::unordered_map<std::string_view, std::uint32_t> texts_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> frames_;  // by hash
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> stacks_;
  std::size_t text_bytes_ = 0;
};

}  // namespace snug::doctor::snapshot
