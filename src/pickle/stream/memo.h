// The memo of a pickle, four bytes a place: what it holds are texts and containers, by handle.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "pickle/stream/item.h"

namespace snug::pickle::stream {

class Memo {
 public:
  // 128 MiB. What is beyond is not remembered: a pickle that asks for it again is refused.
  static constexpr std::size_t kPieces = 1 << 13, kPlacesOfPiece = 1 << 12;

  void put(std::uint64_t index, const Item& item);
  void append(const Item& item) { put(count_, item); }
  std::uint64_t count() const { return count_; }  // one more than the last place
  // kNone: nothing is there.
  Item get(std::uint64_t index) const;

 private:
  using Piece = std::array<std::uint32_t, kPlacesOfPiece>;
  std::unordered_map<std::uint64_t, std::unique_ptr<Piece>> pieces_;
  // The piece that was used last, as most are used in order.
  mutable std::uint64_t last_ = ~std::uint64_t{0};
  mutable Piece* last_piece_ = nullptr;
  std::uint64_t count_ = 0;

  Piece* piece_of(std::uint64_t index) const;
};

}  // namespace snug::pickle::stream
