// Turns a batch of text into tokens, on one of several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "prepare/options.h"
#include "prepare/side.h"
#include "prepare/text_batch.h"
#include "tokenizer/gpt2_tokenizer.h"

namespace snug::prepare {

// What was seen; adds up over batches.
struct TextCounts {
  std::int64_t documents = 0, characters = 0;
  std::int64_t bad_lines = 0;    // left out, with --skip-bad
  std::string first_bad_line;    // what was wrong with the first of them
  std::int64_t stray_bytes = 0;  // that are not UTF-8, kept as they are
  std::string first_stray;       // "FILE, byte 7"
  void add(const TextCounts& more);
};

struct EncodedBatch {
  InputPosition end;
  std::int64_t characters_before = 0;
  TextCounts counts;
  std::vector<std::uint16_t> train, val;
};

// Calls `handle(text, line, ends_document)` for each document, or part of one, of the batch, in
// order, with line ends as Python's text mode reads them. Throws DataError, with file and line, at
// a line that is not what it should be, unless those are to be skipped: then it counts them.
using HandleText =
    std::function<void(std::string_view text, std::int64_t line, bool ends_document)>;
void for_each_document(const BpeOptions& options, const TextBatch& batch, TextCounts& counts,
                       const HandleText& handle);

// Characters of `text`: bytes that begin one.
std::int64_t count_characters(std::string_view text) noexcept;

class BatchEncoder {
 public:
  // Where the split is by characters, those from `first_val_character` on are validation. Both
  // references must outlive the encoder.
  BatchEncoder(const BpeOptions& options, const tokenizer::Gpt2Tokenizer& tokenizer,
               std::int64_t first_val_character)
      : options_(options),
        encoder_(tokenizer.make_encoder()),
        first_val_character_(first_val_character) {}

  // `characters_before`: of all batches before it; asked only where the split is by characters.
  EncodedBatch encode(const TextBatch& batch, std::int64_t characters_before);

 private:
  void count_strays(const TextBatch& batch, TextCounts& counts) const;
  void add(std::string_view text, Side side, EncodedBatch& out);
  void add_by_characters(std::string_view text, std::int64_t characters_before, EncodedBatch& out);

  const BpeOptions& options_;
  tokenizer::Encoder encoder_;
  std::int64_t first_val_character_;
};

}  // namespace snug::prepare
