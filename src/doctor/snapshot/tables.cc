#include "doctor/snapshot/tables.h"

#include <algorithm>

#include "base/utf8.h"

namespace snug::doctor::snapshot {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

// As valid UTF-8, and no longer than what anyone reads.
std::string kept_part(std::string_view text) {
  std::string kept(text.substr(0, Tables::kTextLength));
  if (const auto bad = find_invalid_utf8(kept)) kept.resize(*bad);
  return kept;
}

}  // namespace

Tables::Tables(Snapshot& out) : out_(out) { text(""); }

std::uint32_t Tables::text(std::string_view text) {
  if (const auto found = texts_.find(text); found != texts_.end()) return found->second;
  if (out_.texts.size() >= kTexts || text_bytes_ + text.size() > kTextBytes) {
    out_.is_cut = true;
    return 0;
  }
  std::string kept = kept_part(text);
  if (kept.size() != text.size()) {
    if (const auto found = texts_.find(kept); found != texts_.end()) return found->second;
  }
  const auto index = static_cast<std::uint32_t>(out_.texts.size());
  text_bytes_ += kept.size();
  kept_.push_back(kept);
  texts_.emplace(kept_.back(), index);
  out_.texts.push_back(std::move(kept));
  return index;
}

std::uint32_t Tables::frame(const Frame& frame) {
  const std::uint64_t hash =
      mixed(mixed(frame.file, frame.function), static_cast<std::uint64_t>(frame.line));
  std::vector<std::uint32_t>& same = frames_[hash];
  for (const std::uint32_t index : same) {
    const Frame& known = out_.frames[index];
    if (known.file == frame.file && known.function == frame.function && known.line == frame.line)
      return index;
  }
  if (out_.frames.size() >= kFrames) {
    out_.is_cut = true;
    return 0;
  }
  same.push_back(static_cast<std::uint32_t>(out_.frames.size()));
  out_.frames.push_back(frame);
  return same.back();
}

std::uint32_t Tables::stack(const std::vector<std::uint32_t>& frames) {
  if (frames.empty()) return kNoStack;
  std::uint64_t hash = frames.size();
  for (const std::uint32_t frame : frames) hash = mixed(hash, frame);
  std::vector<std::uint32_t>& same = stacks_[hash];
  for (const std::uint32_t index : same) {
    if (std::ranges::equal(out_.stack(index), frames)) return index;
  }
  if (out_.stacks.size() >= kStacks || out_.stack_frames.size() + frames.size() > kStackFrames) {
    out_.is_cut = true;
    return kNoStack;
  }
  same.push_back(static_cast<std::uint32_t>(out_.stacks.size()));
  out_.stacks.push_back({static_cast<std::uint32_t>(out_.stack_frames.size()),
                         static_cast<std::uint32_t>(frames.size())});
  out_.stack_frames.insert(out_.stack_frames.end(), frames.begin(), frames.end());
  return same.back();
}

}  // namespace snug::doctor::snapshot
