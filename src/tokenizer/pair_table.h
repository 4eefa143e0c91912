// Which two tokens merge into which: a hash table of 50,000 pairs that BPE asks for every pair of
// neighbours. Open addressing, at most 40% full, 8 bytes a slot.
#pragma once

#include <cstdint>
#include <vector>

namespace snug::tokenizer {

class PairTable {
 public:
  static constexpr std::uint32_t kNoMerge = 0xFFFFFFFF;  // above every id

  PairTable() : slots_(std::size_t{1} << kSlotBits) {}

  // The pair must be new, and there may be half as many pairs as slots.
  void add(std::uint16_t left, std::uint16_t right, std::uint16_t merged) {
    const std::uint32_t key = key_of(left, right);
    std::size_t at = slot_of(key);
    while (slots_[at].key != kEmpty) at = next(at);
    slots_[at] = {key, merged};
  }

  // The id that the two merge into, or kNoMerge.
  std::uint32_t merged(std::uint16_t left, std::uint16_t right) const noexcept {
    const std::uint32_t key = key_of(left, right);
    for (std::size_t at = slot_of(key);; at = next(at)) {
      if (slots_[at].key == key) return slots_[at].merged;
      if (slots_[at].key == kEmpty) return kNoMerge;
    }
  }

 private:
  static constexpr int kSlotBits = 17;
  static constexpr std::uint32_t kEmpty = 0xFFFFFFFF;  // no pair: ids end before 65535
  struct Slot {
    std::uint32_t key = kEmpty;
    std::uint32_t merged = kNoMerge;
  };

  static std::uint32_t key_of(std::uint16_t left, std::uint16_t right) noexcept {
    return (std::uint32_t{left} << 16) | right;
  }
  static std::size_t slot_of(std::uint32_t key) noexcept {
    return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ULL) >> (64 - kSlotBits));
  }
  static std::size_t next(std::size_t at) noexcept {
    return (at + 1) & ((std::size_t{1} << kSlotBits) - 1);
  }

  std::vector<Slot> slots_;
};

}  // namespace snug::tokenizer
