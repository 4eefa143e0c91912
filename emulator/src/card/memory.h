// The fake card's memory: address space that is reserved as far as it is asked for and committed
// where it is touched, so that a 12 GiB card costs no more than what a test writes. Pinned host
// memory is booked here too.
#pragma once

#include <cstddef>
#include <map>

#include "emulator/card.h"

namespace emulator {

class CardMemory {
 public:
  // Room between allocations, unreadable: an overrun by a page or more ends the program.
  static constexpr std::size_t kGranule = std::size_t{2} << 20;
  // Fresh memory up to this size is filled with NaN, as a card's may be.
  static constexpr std::size_t kPoisonedBytes = std::size_t{1} << 20;

  ~CardMemory();

  // Null if `room` bytes are not enough for it, in whole granules where it is large.
  void* allocate(std::size_t bytes, std::size_t room);
  bool release(void* address);
  void* allocate_pinned(std::size_t bytes);
  bool release_pinned(void* address);
  void register_pinned(void* address, std::size_t bytes) { pinned_[address] = {bytes, false}; }
  void release_all();

  // Whether all of it lies in one allocation.
  bool on_card(const void* address, std::size_t bytes) const;
  bool pinned(const void* address, std::size_t bytes) const;
  // Whether any byte of the card's is in it.
  bool touches_card(const void* address) const;

  // As the driver counts: small ones share granules, large ones are rounded up.
  std::size_t occupied_bytes() const;
  CardUse use() const { return use_; }
  CardUse& use() { return use_; }
  const std::map<const void*, std::size_t>& allocations() const { return allocations_; }

 private:
  struct Pinned {
    std::size_t bytes;
    bool owned;
  };
  std::map<const void*, std::size_t> allocations_;
  std::map<const void*, Pinned> pinned_;
  std::size_t small_bytes_ = 0, large_bytes_ = 0;
  CardUse use_;
};

}  // namespace emulator
