// The memo of a pickle, four bytes a place: what it holds are texts and containers, by handle.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "pickle/stream/item.h"

namespace snug::pickle::stream {

class Memo {
 public:
  // 128 MiB. What is beyond is not remembered: a pickle that asks for it again is refused.
  static constexpr std::size_t kPieces = 1 << 13, kPlacesOfPiece = 1 << 12;
  static constexpr std::size_t kPlaces = kPieces * kPlacesOfPiece;

  void put(std::uint64_t index, const Item& item) {
    count_ = index >= count_ ? index + 1 : count_;
    if (index >= kPlaces) return;
    std::unique_ptr<Piece>& piece = pieces_[index / kPlacesOfPiece];
    if (piece == nullptr) piece = std::make_unique<Piece>();  // of zeros
    (*piece)[index % kPlacesOfPiece] = packed(item);
  }

  std::uint64_t count() const { return count_; }  // one more than the last place

  // kNone: nothing is there.
  Item get(std::uint64_t index) const {
    const Piece* piece = index < kPlaces ? pieces_[index / kPlacesOfPiece].get() : nullptr;
    const std::uint32_t place = piece == nullptr ? 0 : (*piece)[index % kPlacesOfPiece];
    if (place == 0) return {};
    return {static_cast<ItemKind>(place >> kKindShift), static_cast<std::uint32_t>(index) + 1,
            place & (kHandleLimit - 1)};
  }

 private:
  using Piece = std::array<std::uint32_t, kPlacesOfPiece>;
  static constexpr unsigned kKindShift = 28;
  static_assert(kHandleLimit == 1u << kKindShift && static_cast<int>(ItemKind::kSet) < 16);

  // 0: empty, or a number, which no writer puts here.
  static std::uint32_t packed(const Item& item) {
    if (!item.has_handle()) return 0;
    return static_cast<std::uint32_t>(item.kind) << kKindShift |
           static_cast<std::uint32_t>(item.value);
  }

  std::vector<std::unique_ptr<Piece>> pieces_{kPieces};
  std::uint64_t count_ = 0;
};

}  // namespace snug::pickle::stream
