#include "pickle/stream/memo.h"

namespace snug::pickle::stream {
namespace {

// 0: empty. The kinds with a handle take 1 to 5, what has none 6.
std::uint32_t packed(const Item& item) {
  constexpr std::uint32_t kWithoutHandle = 6;
  if (!item.has_handle()) return kWithoutHandle << 28;
  const auto kind =
      static_cast<std::uint32_t>(item.kind) - static_cast<std::uint32_t>(ItemKind::kText) + 1;
  return kind << 28 | static_cast<std::uint32_t>(item.value);
}

}  // namespace

Memo::Piece* Memo::piece_of(std::uint64_t index) const {
  const std::uint64_t number = index / kPlacesOfPiece;
  if (number != last_) {
    const auto found = pieces_.find(number);
    if (found == pieces_.end()) return nullptr;
    last_ = number;
    last_piece_ = found->second.get();
  }
  return last_piece_;
}

void Memo::put(std::uint64_t index, const Item& item) {
  count_ = index >= count_ ? index + 1 : count_;
  Piece* piece = piece_of(index);
  if (piece == nullptr) {
    if (pieces_.size() >= kPieces) return;
    piece = pieces_.emplace(index / kPlacesOfPiece, std::make_unique<Piece>()).first->second.get();
    piece->fill(0);
  }
  (*piece)[index % kPlacesOfPiece] = packed(item);
}

Item Memo::get(std::uint64_t index) const {
  const Piece* piece = piece_of(index);
  const std::uint32_t place = piece == nullptr ? 0 : (*piece)[index % kPlacesOfPiece];
  const std::uint32_t kind = place >> 28;
  Item item;
  if (kind == 0 || kind > 5) return item;
  item.kind = static_cast<ItemKind>(static_cast<std::uint32_t>(ItemKind::kText) + kind - 1);
  item.value = place & (kHandleLimit - 1);
  item.memo = index < ~std::uint32_t{0} ? static_cast<std::uint32_t>(index) + 1 : 0;
  return item;
}

}  // namespace snug::pickle::stream
