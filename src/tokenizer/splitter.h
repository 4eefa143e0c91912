// GPT-2's pre-tokenizer: cuts text into the pieces that BPE works within. The same pieces as
//   '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// matched again and again from the left, with Unicode 16.0, as tiktoken has it. Bytes that are not
// UTF-8 are taken one by one as characters that are no space, letter or number.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

namespace snug::tokenizer {

enum class CharacterClass : std::uint8_t { kOther, kLetter, kNumber, kSpace };

class Splitter {
 public:
  Splitter();

  CharacterClass class_of(char32_t code_point) const noexcept;

  // Where the piece that begins at `begin`, below text.size(), ends.
  std::size_t piece_end(std::string_view text, std::size_t begin) const noexcept;

 private:
  struct Character {
    CharacterClass kind;
    std::uint8_t byte_count;
  };

  Character at(std::string_view text, std::size_t position) const noexcept;
  Character wide_at(std::string_view text, std::size_t position) const noexcept;
  std::size_t run_end(std::string_view text, std::size_t begin, CharacterClass kind) const noexcept;
  std::size_t space_piece_end(std::string_view text, std::size_t begin) const noexcept;

  static constexpr std::size_t kPlaneSize = 0x10000;
  static constexpr CharacterClass kNotAscii{0xFF};

  std::array<CharacterClass, 256> ascii_{};                        // by byte
  std::unique_ptr<std::array<CharacterClass, kPlaneSize>> plane_;  // U+0000 to U+FFFF
};

// A place where text can be cut without changing its tokens: the last position in (0, text.size())
// at which a space follows what is none. In text without such a place, such as a long line of JSON,
// the last one between two characters of ASCII that no piece holds beside each other; never before
// a |, which may be that of <|endoftext|>. 0 where there is none either.
std::size_t last_safe_cut(std::string_view text) noexcept;

}  // namespace snug::tokenizer
