// GPT-2's vocabulary: 256 bytes, 50,000 tokens each merged from two earlier ones, and
// <|endoftext|>. Built in a few milliseconds from the merge table that the program carries
// (gpt2/merges.txt); immutable, and shared by any number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/pair_table.h"

namespace snug::tokenizer {

class Gpt2Vocabulary {
 public:
  static constexpr std::int32_t kSize = 50257;
  static constexpr std::int32_t kFirstMerged = 256;  // id of the first line of the merge table
  static constexpr std::int32_t kEndOfText = 50256;
  static constexpr std::string_view kEndOfTextText = "<|endoftext|>";

  Gpt2Vocabulary();

  // The bytes that `id`, in [0, kSize), stands for. They live as long as the vocabulary.
  std::string_view bytes_of(std::int32_t id) const noexcept {
    const auto at = static_cast<std::size_t>(id);
    return std::string_view(bytes_).substr(starts_[at], starts_[at + 1] - starts_[at]);
  }

  // The id of the token that is this one byte.
  std::uint16_t id_of_byte(std::uint8_t byte) const noexcept { return byte_ids_[byte]; }

  // What two neighbours merge into. A merge that comes earlier in the table has the lower id.
  const PairTable& pairs() const noexcept { return pairs_; }

  // A token as GPT-2's own files write it, in printable characters: "Ġthe" for " the".
  std::string printable(std::int32_t id) const;
  static std::string printable(std::string_view bytes);

  // The merge table as it was published: a line "#version: 0.2", then "Ġ t", one merge a line.
  static std::string_view merges_text() noexcept;
  // Its merges, "Ġ t" first.
  static std::vector<std::string_view> merges();

 private:
  void add_byte_tokens();
  void add_merged_tokens();
  void add_token(std::string_view bytes);

  std::string bytes_;                  // of all tokens, end to end
  std::vector<std::uint32_t> starts_;  // kSize + 1 of them
  std::vector<std::uint16_t> byte_ids_;
  PairTable pairs_;
};

}  // namespace snug::tokenizer
