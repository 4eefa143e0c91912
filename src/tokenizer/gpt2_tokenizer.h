// GPT-2's tokenizer in one object: exactly OpenAI's ids for any bytes.
#pragma once

#include "tokenizer/encoder.h"
#include "tokenizer/gpt2_vocabulary.h"
#include "tokenizer/splitter.h"
#include "tokenizer/tokenizer.h"

namespace snug::tokenizer {

class Gpt2Tokenizer : public Tokenizer {
 public:
  std::int64_t vocab_size() const noexcept override { return Gpt2Vocabulary::kSize; }

  // As nanoGPT's sample.py encodes: each "<|endoftext|>" is the one token. For much text make an
  // encoder, which keeps its cache, and which can also take that as text.
  std::vector<std::int32_t> encode(std::string_view text) const override;

  // Bytes: a token need not be whole characters.
  std::string decode(std::span<const std::int32_t> ids) const override;

  // An encoder for one thread; this tokenizer must outlive it.
  Encoder make_encoder() const { return Encoder(vocabulary_, splitter_); }

  const Gpt2Vocabulary& vocabulary() const noexcept { return vocabulary_; }

 private:
  Gpt2Vocabulary vocabulary_;
  Splitter splitter_;
};

}  // namespace snug::tokenizer
