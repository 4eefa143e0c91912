#include "plan/packing.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace snug::plan {
namespace {

using Order = std::function<bool(const Block&, const Block&)>;

std::int32_t steps_of(const Block& b) { return b.last - b.first; }

// First fit: each block, in the given order, goes to the lowest gap between the blocks that are
// already placed and alive together with it.
class FirstFit {
 public:
  explicit FirstFit(const std::vector<Block>& blocks) : blocks_(blocks) {
    packing_.offset.assign(blocks.size(), 0);
  }

  Packing run(const Order& before) {
    std::vector<std::size_t> order(blocks_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return before(blocks_[a], blocks_[b]); });
    for (const std::size_t i : order) place(i);
    return std::move(packing_);
  }

 private:
  struct Placed {
    std::int64_t begin, end;
    std::int32_t first, last;
  };

  // `placed_` is sorted by begin, so one walk finds the lowest gap. Neighbours with one life, such
  // as all weights, are one entry: nothing fits between them.
  void place(std::size_t i) {
    const Block& block = blocks_[i];
    std::int64_t candidate = 0;
    for (const Placed& other : placed_) {
      if (other.last < block.first || other.first > block.last) continue;
      if (other.begin - candidate >= block.bytes) break;
      candidate = std::max(candidate, other.end);
    }
    const Placed placed{candidate, candidate + block.bytes, block.first, block.last};
    const auto at =
        std::upper_bound(placed_.begin(), placed_.end(), placed,
                         [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
    if (at != placed_.begin() && continues(*(at - 1), placed)) {
      (at - 1)->end = placed.end;
    } else {
      placed_.insert(at, placed);
    }
    packing_.offset[i] = candidate;
    packing_.total_bytes = std::max(packing_.total_bytes, placed.end);
  }

  static bool continues(const Placed& a, const Placed& b) {
    return a.end == b.begin && a.first == b.first && a.last == b.last;
  }

  const std::vector<Block>& blocks_;
  std::vector<Placed> placed_;
  Packing packing_;
};

// Blocks that live all the time, such as weights. They are stacked below the others, because
// nothing can ever share their bytes.
class AlwaysLive {
 public:
  explicit AlwaysLive(const std::vector<Block>& blocks) : is_always_live_(blocks.size()) {
    std::int32_t first = std::numeric_limits<std::int32_t>::max(), last = -1;
    for (const Block& block : blocks) {
      first = std::min(first, block.first);
      last = std::max(last, block.last);
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      is_always_live_[i] = blocks[i].first == first && blocks[i].last == last;
      if (is_always_live_[i]) {
        offsets_.push_back(bytes_);
        bytes_ += blocks[i].bytes;
      } else {
        others_.push_back(blocks[i]);
      }
    }
  }

  std::int64_t bytes() const { return bytes_; }
  const std::vector<Block>& others() const { return others_; }

  Packing below(const Packing& packing) const {
    Packing whole;
    whole.total_bytes = bytes_ + packing.total_bytes;
    std::size_t mine = 0, other = 0;
    for (const bool is_mine : is_always_live_) {
      whole.offset.push_back(is_mine ? offsets_[mine++] : bytes_ + packing.offset[other++]);
    }
    return whole;
  }

 private:
  std::vector<bool> is_always_live_;
  std::vector<std::int64_t> offsets_;
  std::int64_t bytes_ = 0;
  std::vector<Block> others_;
};

}  // namespace

Packing pack(const std::vector<Block>& blocks, std::int64_t lower_bound_bytes) {
  // Long-lived first suits the stack-like life of saved activations; size first suits a few large
  // tensors among many small ones.
  const Order orders[] = {
      [](const Block& a, const Block& b) {
        return steps_of(a) != steps_of(b) ? steps_of(a) > steps_of(b) : a.bytes > b.bytes;
      },
      [](const Block& a, const Block& b) {
        return a.bytes != b.bytes ? a.bytes > b.bytes : steps_of(a) > steps_of(b);
      },
      [](const Block& a, const Block& b) {
        return a.first != b.first ? a.first < b.first : a.bytes > b.bytes;
      },
      [](const Block& a, const Block& b) {
        const auto area = [](const Block& x) {
          return static_cast<double>(x.bytes) * (steps_of(x) + 1);
        };
        return area(a) > area(b);
      },
  };
  // A pass takes quadratic time: of many blocks, one that is this near to the bound is the last.
  constexpr std::size_t kManyBlocks = 4096;
  const std::int64_t enough =
      blocks.size() < kManyBlocks ? lower_bound_bytes : lower_bound_bytes + lower_bound_bytes / 500;
  const AlwaysLive always_live(blocks);
  Packing best;
  for (const Order& order : orders) {
    Packing packing = FirstFit(always_live.others()).run(order);
    if (best.offset.empty() || packing.total_bytes < best.total_bytes) best = std::move(packing);
    if (best.total_bytes + always_live.bytes() <= enough) break;
  }
  return always_live.below(best);
}

}  // namespace snug::plan
