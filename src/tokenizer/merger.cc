#include "tokenizer/merger.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/error.h"

namespace snug::tokenizer {
namespace {

constexpr std::uint32_t kNoMerge = PairTable::kNoMerge;
constexpr std::uint32_t kNowhere = 0xFFFFFFFF;  // before the first token, after the last

}  // namespace

void Merger::merge(std::string_view piece, std::vector<std::uint16_t>& out) {
  if (piece.size() <= kScanLimitBytes) {
    scan(piece, out);
  } else {
    merge_by_heap(piece, out);
  }
}

void Merger::scan(std::string_view piece, std::vector<std::uint16_t>& out) const {
  const PairTable& pairs = vocabulary_->pairs();
  std::array<std::uint16_t, kScanLimitBytes> ids;
  std::array<std::uint32_t, kScanLimitBytes> merged;  // of a token and its successor
  std::size_t count = piece.size();
  for (std::size_t i = 0; i < count; ++i) {
    ids[i] = vocabulary_->id_of_byte(static_cast<std::uint8_t>(piece[i]));
    if (i > 0) merged[i - 1] = pairs.merged(ids[i - 1], ids[i]);
  }
  merged[count - 1] = kNoMerge;
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) {
      if (merged[i] < merged[best]) best = i;
    }
    if (merged[best] == kNoMerge) break;
    ids[best] = static_cast<std::uint16_t>(merged[best]);
    for (std::size_t i = best + 1; i + 1 < count; ++i) {
      ids[i] = ids[i + 1];
      merged[i] = merged[i + 1];
    }
    --count;
    merged[best] = best + 1 < count ? pairs.merged(ids[best], ids[best + 1]) : kNoMerge;
    if (best > 0) merged[best - 1] = pairs.merged(ids[best - 1], ids[best]);
  }
  out.insert(out.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
}

void Merger::start_list(std::string_view piece) {
  const std::size_t count = piece.size();
  ids_.resize(count);
  next_.resize(count);
  previous_.resize(count);
  merged_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    ids_[i] = vocabulary_->id_of_byte(static_cast<std::uint8_t>(piece[i]));
    next_[i] = static_cast<std::uint32_t>(i + 1);
    previous_[i] = static_cast<std::uint32_t>(i) - 1;  // kNowhere for the first
  }
  next_[count - 1] = kNowhere;
  for (std::uint32_t i = 0; i < count; ++i) set_candidate(i);
}

void Merger::set_candidate(std::uint32_t at) {
  const std::uint32_t after = next_[at];
  merged_[at] = after == kNowhere ? kNoMerge : vocabulary_->pairs().merged(ids_[at], ids_[after]);
}

namespace {

// For a heap whose top is the smallest.
constexpr auto kLater = [](const auto& a, const auto& b) {
  return a.merged != b.merged ? a.merged > b.merged : a.at > b.at;
};

}  // namespace

void Merger::push_candidate(std::uint32_t at) {
  set_candidate(at);
  if (merged_[at] == kNoMerge) return;
  heap_.push_back({merged_[at], at});
  std::push_heap(heap_.begin(), heap_.end(), kLater);
}

void Merger::merge_by_heap(std::string_view piece, std::vector<std::uint16_t>& out) {
  if (piece.size() > kMaxPieceBytes) {
    throw DataError(fmt::format("a word of {} cannot be tokenized: the limit is {}",
                                format_bytes(static_cast<std::int64_t>(piece.size())),
                                format_bytes(kMaxPieceBytes)));
  }
  start_list(piece);
  heap_.clear();
  for (std::uint32_t i = 0; i < piece.size(); ++i) {
    if (merged_[i] != kNoMerge) heap_.push_back({merged_[i], i});
  }
  std::make_heap(heap_.begin(), heap_.end(), kLater);
  while (!heap_.empty()) {
    const Candidate best = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), kLater);
    heap_.pop_back();
    if (merged_[best.at] != best.merged) continue;  // one of the two has merged otherwise
    const std::uint32_t gone = next_[best.at];
    ids_[best.at] = static_cast<std::uint16_t>(best.merged);
    merged_[gone] = kNoMerge;
    next_[best.at] = next_[gone];
    if (next_[gone] != kNowhere) previous_[next_[gone]] = best.at;
    push_candidate(best.at);
    if (previous_[best.at] != kNowhere) push_candidate(previous_[best.at]);
  }
  for (std::uint32_t at = 0; at != kNowhere; at = next_[at]) out.push_back(ids_[at]);
  release_if_large();
}

void Merger::release_if_large() {
  constexpr std::size_t kKeptTokens = 1 << 16;
  if (ids_.capacity() <= kKeptTokens) return;
  *this = Merger(*vocabulary_);
}

}  // namespace snug::tokenizer
