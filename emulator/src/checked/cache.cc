#include "checked/cache.h"

#include <algorithm>

#include "emulator/counters.h"

namespace emulator {

void CacheModel::start(std::size_t capacity_bytes, std::size_t blocks) {
  capacity_bytes_ = capacity_bytes;
  blocks_ = blocks;
  held_.clear();
  where_.clear();
  waiting_.clear();
  fetched_ = written_ = 0;
}

void CacheModel::add(BlockTrace block, std::size_t blocks_at_once) {
  const std::size_t share = std::min(blocks_, blocks_at_once);
  capacity_ = std::max<std::size_t>(1, capacity_bytes_ * share / blocks_at_once / kSectorBytes);
  waiting_.push_back(std::move(block));
  if (waiting_.size() >= blocks_at_once) run();
}

void CacheModel::run() {
  bool more = true;
  for (std::size_t i = 0; more; ++i) {
    more = false;
    for (const BlockTrace& block : waiting_) {
      if (i >= block.size()) continue;
      more = true;
      for (const SectorUse& use : block[i]) touch(use);
    }
  }
  waiting_.clear();
}

void CacheModel::touch(const SectorUse& use) {
  if (const auto found = where_.find(use.sector); found != where_.end()) {
    found->second->written |= use.writes;
    held_.splice(held_.begin(), held_, found->second);
    return;
  }
  if (held_.size() >= capacity_) evict();
  if (!use.writes) ++fetched_;  // a write needs nothing of what was there
  held_.push_front({use.sector, use.writes});
  where_[use.sector] = held_.begin();
}

void CacheModel::evict() {
  if (held_.back().written) ++written_;
  where_.erase(held_.back().sector);
  held_.pop_back();
}

void CacheModel::finish() {
  run();
  while (!held_.empty()) evict();
}

}  // namespace emulator
