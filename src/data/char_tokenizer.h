// Text to ids and back, one Unicode character to one id, as nanoGPT's character datasets do.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/meta.h"
#include "tokenizer/tokenizer.h"

namespace snug::data {

class CharTokenizer : public tokenizer::Tokenizer {
 public:
  // Throws DataError when `meta` has no table of characters.
  explicit CharTokenizer(Meta meta);

  std::int64_t vocab_size() const noexcept override { return meta_.vocab_size; }

  // Throws DataError, with the byte offset, for bytes that are not UTF-8 and for a character that
  // is not in the vocabulary.
  std::vector<std::int32_t> encode(std::string_view utf8) const override;

  // UTF-8. Throws DataError for an id outside the vocabulary.
  std::string decode(std::span<const std::int32_t> ids) const override;

 private:
  Meta meta_;
};

}  // namespace snug::data
