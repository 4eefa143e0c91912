// Byte pair encoding of one piece of text: of all pairs of neighbours that merge, the one that
// comes first in the merge table does, leftmost first, until none is left. Short pieces by
// scanning, long ones by a heap: n log n, so that a megabyte of one letter takes no longer than
// other text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/gpt2_vocabulary.h"

namespace snug::tokenizer {

class Merger {
 public:
  // Pieces of up to so many bytes are scanned: at that length both ways cost about the same.
  static constexpr std::size_t kScanLimitBytes = 64;
  // A piece may have no more bytes. One byte of a long piece takes about 34 bytes of memory.
  static constexpr std::size_t kMaxPieceBytes = std::size_t{1} << 31;

  // `vocabulary` must outlive the merger. One thread at a time.
  explicit Merger(const Gpt2Vocabulary& vocabulary) : vocabulary_(&vocabulary) {}

  // Appends the ids of `piece`, which is not empty. Throws DataError past kMaxPieceBytes.
  void merge(std::string_view piece, std::vector<std::uint16_t>& out);

 private:
  // The pair that begins at `at`. Ordered by id, which is the merge's rank, then from the left.
  struct Candidate {
    std::uint32_t merged;
    std::uint32_t at;
  };

  void scan(std::string_view piece, std::vector<std::uint16_t>& out) const;
  void merge_by_heap(std::string_view piece, std::vector<std::uint16_t>& out);
  void start_list(std::string_view piece);
  void set_candidate(std::uint32_t at);
  void push_candidate(std::uint32_t at);
  void release_if_large();

  const Gpt2Vocabulary* vocabulary_;
  // A linked list of the tokens of a long piece, by the position of their first byte.
  std::vector<std::uint16_t> ids_;
  std::vector<std::uint32_t> next_, previous_;
  std::vector<std::uint32_t> merged_;  // what the token at a position and its successor merge into
  std::vector<Candidate> heap_;
};

}  // namespace snug::tokenizer
