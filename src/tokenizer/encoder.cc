#include "tokenizer/encoder.h"

#include <span>

namespace snug::tokenizer {

void Encoder::add_piece(std::string_view piece, std::string_view readable,
                        std::vector<std::uint16_t>& out) {
  if (piece.size() > PieceCache::kMaxPieceBytes) {
    merger_.merge(piece, out);
    return;
  }
  const PieceCache::Key key = PieceCache::key_of(piece, readable);
  PieceCache::Entry& entry = cache_.entry_of(key);
  if (entry.key == key) {
    out.insert(out.end(), entry.tokens.begin(), entry.tokens.begin() + entry.token_count);
    return;
  }
  const std::size_t before = out.size();
  merger_.merge(piece, out);
  const auto tokens = std::span<const std::uint16_t>(out).subspan(before);
  if (tokens.size() <= PieceCache::kMaxTokens) PieceCache::put(entry, key, tokens);
}

void Encoder::encode(std::string_view text, std::vector<std::uint16_t>& out) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = splitter_->piece_end(text, begin);
    add_piece(text.substr(begin, end - begin), text.substr(begin), out);
    begin = end;
  }
}

void Encoder::encode_with_special(std::string_view text, std::vector<std::uint16_t>& out) {
  constexpr std::string_view special = Gpt2Vocabulary::kEndOfTextText;
  for (;;) {
    const std::size_t at = text.find(special);
    encode(text.substr(0, at), out);
    if (at == std::string_view::npos) return;
    out.push_back(Gpt2Vocabulary::kEndOfText);
    text.remove_prefix(at + special.size());
  }
}

}  // namespace snug::tokenizer
