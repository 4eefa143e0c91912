// Encodes text with GPT-2's tokenizer, at the speed of looking words up: pieces that were met
// before come from a cache. One encoder per thread; the vocabulary and the splitter are shared.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/gpt2_vocabulary.h"
#include "tokenizer/merger.h"
#include "tokenizer/piece_cache.h"
#include "tokenizer/splitter.h"

namespace snug::tokenizer {

class Encoder {
 public:
  // Both must outlive the encoder. Takes a megabyte, and more for a piece of over 64 KiB while that
  // is worked on (see Merger).
  Encoder(const Gpt2Vocabulary& vocabulary, const Splitter& splitter)
      : splitter_(&splitter), merger_(vocabulary) {}

  // Appends the ids of any bytes. "<|endoftext|>" is text like any other.
  void encode(std::string_view text, std::vector<std::uint16_t>& out);

  // The same, but each "<|endoftext|>" is the one token.
  void encode_with_special(std::string_view text, std::vector<std::uint16_t>& out);

 private:
  void add_piece(std::string_view piece, std::string_view readable,
                 std::vector<std::uint16_t>& out);

  const Splitter* splitter_;
  Merger merger_;
  PieceCache cache_;
};

}  // namespace snug::tokenizer
