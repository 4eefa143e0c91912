#include "prepare/batch_encoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace snug::prepare {
namespace {

constexpr bool begins_character(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

// Bytes of the first `count` characters.
std::size_t bytes_of_characters(std::string_view text, std::int64_t count) noexcept {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i]) && count-- == 0) return i;
  }
  return text.size();
}

}  // namespace

void TextCounts::add(const TextCounts& more) {
  documents += more.documents;
  characters += more.characters;
  if (bad_lines == 0) first_bad_line = more.first_bad_line;
  bad_lines += more.bad_lines;
  if (stray_bytes == 0) first_stray = more.first_stray;
  stray_bytes += more.stray_bytes;
}

std::int64_t count_characters(std::string_view text) noexcept {
  return std::count_if(text.begin(), text.end(), begins_character);
}

EncodedBatch BatchEncoder::encode(const TextBatch& batch, std::int64_t characters_before) {
  EncodedBatch out;
  out.end = batch.end;
  out.train.reserve(batch.text.size() / 3);
  if (options_.documents != DocumentKind::kJson) count_strays(batch, out.counts);
  for_each_document(
      options_, batch, out.counts,
      [&](std::string_view text, std::int64_t line, bool ends_document) {
        Side side = Side::kTrain;
        if (options_.split == Split::kCharacters) {
          const std::int64_t before = characters_before + out.counts.characters;
          add_by_characters(text, before, out);
          out.counts.characters += count_characters(text);
          const std::int64_t after = characters_before + out.counts.characters;
          side = after > first_val_character_ ? Side::kVal : Side::kTrain;
        } else {
          side = side_of_document(options_.seed, options_.val_share, batch.start.file, line);
          add(text, side, out);
          out.counts.characters += count_characters(text);
        }
        if (!ends_document || !options_.end_of_text) return;
        (side == Side::kVal ? out.val : out.train).push_back(tokenizer::Gpt2Vocabulary::kEndOfText);
      });
  return out;
}

// A batch ends with a whole character: what is half of one here is so in the input.
void BatchEncoder::count_strays(const TextBatch& batch, TextCounts& counts) const {
  std::size_t at = 0;
  while (const auto stray = find_invalid_utf8(std::string_view(batch.text).substr(at))) {
    at += *stray;
    if (counts.stray_bytes++ == 0) {
      counts.first_stray =
          fmt::format("{}, byte {}", options_.inputs[static_cast<std::size_t>(batch.start.file)],
                      batch.start.offset + static_cast<std::int64_t>(at) + 1);
    }
    ++at;
  }
}

void BatchEncoder::add(std::string_view text, Side side, EncodedBatch& out) {
  encoder_.encode(text, side == Side::kVal ? out.val : out.train);
}

void BatchEncoder::add_by_characters(std::string_view text, std::int64_t characters_before,
                                     EncodedBatch& out) {
  const std::int64_t for_train =
      std::max<std::int64_t>(first_val_character_ - characters_before, 0);
  const std::size_t cut = bytes_of_characters(text, for_train);
  add(text.substr(0, cut), Side::kTrain, out);
  add(text.substr(cut), Side::kVal, out);
}

}  // namespace snug::prepare
