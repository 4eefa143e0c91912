#include "formats/gguf/vocabulary.h"

#include <fmt/format.h>

#include <set>

#include "tokenizer/gpt2_vocabulary.h"

namespace snug::formats::gguf {
namespace {

using tokenizer::Gpt2Vocabulary;

// ggml's numbers of token types.
constexpr std::int32_t kNormal = 1, kControl = 3, kUnused = 5;

struct Tokens {
  std::vector<std::string> texts, merges;
  std::vector<std::int32_t> types;

  void add(std::string text, std::int32_t type) {
    texts.push_back(std::move(text));
    types.push_back(type);
  }
};

Tokens gpt2_tokens() {
  Tokens tokens;
  const Gpt2Vocabulary gpt2;
  for (std::int32_t id = 0; id < Gpt2Vocabulary::kSize; ++id) {
    tokens.add(gpt2.printable(id), id == Gpt2Vocabulary::kEndOfText ? kControl : kNormal);
  }
  const std::vector<std::string_view> merges = Gpt2Vocabulary::merges();
  tokens.merges.assign(merges.begin(), merges.end());
  return tokens;
}

// A character's bytes are merged from the left; what they begin with stands in no vocabulary, but
// is merged further wherever the character is in it.
Tokens character_tokens(const std::vector<std::string>& characters) {
  Tokens tokens;
  std::set<std::string> merges;
  for (const std::string& character : characters) {
    tokens.add(Gpt2Vocabulary::printable(character), kNormal);
    for (std::size_t length = 1; length < character.size(); ++length) {
      const std::string merge = Gpt2Vocabulary::printable(character.substr(0, length)) + " " +
                                Gpt2Vocabulary::printable(character.substr(length, 1));
      if (merges.insert(merge).second) tokens.merges.push_back(merge);
    }
  }
  return tokens;
}

void pad(Tokens& tokens, std::int64_t vocab_size) {
  while (std::ssize(tokens.texts) < vocab_size) {
    tokens.add(fmt::format("[PAD{}]", tokens.texts.size()), kUnused);
  }
}

}  // namespace

void add_vocabulary(const Source& source, GgufMetadata& metadata) {
  const checkpoint::TokenizerRecord& record = source.state.records.tokenizer;
  metadata.number("gpt2.vocab_size", static_cast<std::uint32_t>(source.sizes.vocab_size));
  if (record.kind.empty()) return metadata.text("tokenizer.ggml.model", "none");
  const bool is_gpt2 = record.kind == checkpoint::kGpt2Tokenizer;
  Tokens tokens = is_gpt2 ? gpt2_tokens() : character_tokens(record.characters);
  pad(tokens, source.sizes.vocab_size);
  metadata.text("tokenizer.ggml.model", "gpt2");
  metadata.text("tokenizer.ggml.pre", "gpt-2");
  metadata.texts("tokenizer.ggml.tokens", tokens.texts);
  metadata.numbers("tokenizer.ggml.token_type", tokens.types);
  metadata.texts("tokenizer.ggml.merges", tokens.merges);
  metadata.boolean("tokenizer.ggml.add_bos_token", false);
  if (!is_gpt2) return;
  metadata.number("tokenizer.ggml.bos_token_id", Gpt2Vocabulary::kEndOfText);
  metadata.number("tokenizer.ggml.eos_token_id", Gpt2Vocabulary::kEndOfText);
}

}  // namespace snug::formats::gguf
