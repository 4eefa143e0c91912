// The letters (\p{L}) and numbers (\p{N}) of Unicode, as ascending ranges of code points.
#pragma once

#include <span>

namespace snug::tokenizer {

struct CodePointRange {
  char32_t first, last;  // both belong to it
};

std::span<const CodePointRange> letter_ranges() noexcept;
std::span<const CodePointRange> number_ranges() noexcept;

}  // namespace snug::tokenizer
