// Text to token ids and back: what sampling, preparing and converting know of a tokenizer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace snug::tokenizer {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Ids are below it.
  virtual std::int64_t vocab_size() const noexcept = 0;

  // Any number of threads may call both. Throw DataError for text that has no tokens here, and for
  // an id outside the vocabulary.
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;
};

}  // namespace snug::tokenizer
