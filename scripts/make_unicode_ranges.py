#!/usr/bin/env python3
"""Writes src/tokenizer/unicode_ranges.cc: the letters and numbers of Unicode 16.0, the version that
tiktoken has. Needs the package unicodedata2==16.0.0; the output is committed."""
import unicodedata2

assert unicodedata2.unidata_version == "16.0.0", "pip install unicodedata2==16.0.0"


def ranges(category):
    found = []
    for code in range(0x110000):
        if unicodedata2.category(chr(code))[0] != category:
            continue
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


def table(name, category):
    lines, line = [f"constexpr CodePointRange {name}[] = {{"], "   "
    for first, last in ranges(category):
        item = f" {{0x{first:X}, 0x{last:X}}},"
        if len(line + item) > 100:
            lines.append(line)
            line = "   "
        line += item
    return "\n".join(lines + [line, "};"])


with open("src/tokenizer/unicode_ranges.cc", "w") as out:
    out.write(f"""// Written by scripts/make_unicode_ranges.py from Unicode {unicodedata2.unidata_version}.
#include "tokenizer/unicode_ranges.h"

namespace snug::tokenizer {{
namespace {{

// clang-format off
{table("kLetters", "L")}

{table("kNumbers", "N")}
// clang-format on

}}  // namespace

std::span<const CodePointRange> letter_ranges() noexcept {{ return kLetters; }}
std::span<const CodePointRange> number_ranges() noexcept {{ return kNumbers; }}

}}  // namespace snug::tokenizer
""")
