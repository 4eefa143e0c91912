#include "tokenizer/gpt2_tokenizer.h"

#include <fmt/format.h>

#include "base/error.h"

namespace snug::tokenizer {

std::vector<std::int32_t> Gpt2Tokenizer::encode(std::string_view text) const {
  std::vector<std::uint16_t> ids;
  make_encoder().encode_with_special(text, ids);
  return {ids.begin(), ids.end()};
}

std::string Gpt2Tokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= Gpt2Vocabulary::kSize) {
      throw DataError(
          fmt::format("{} is no token of GPT-2: ids are 0 to {}", id, Gpt2Vocabulary::kSize - 1));
    }
    text += vocabulary_.bytes_of(id);
  }
  return text;
}

}  // namespace snug::tokenizer
