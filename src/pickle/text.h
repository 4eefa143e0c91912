// The arguments that pickle's oldest opcodes write as lines of text. Nothing comes back when a line
// is not what Python would have written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace snug::pickle {

// "-12" or "12L"; must fit 64 bits.
std::optional<std::int64_t> parse_pickle_int(std::string_view line);

// Python's repr of a float: "0.1", "1e-05", "inf", "nan".
std::optional<double> parse_pickle_float(std::string_view line);

// UNICODE's raw-unicode-escape: Latin-1 with \uXXXX and \UXXXXXXXX. Gives UTF-8.
std::optional<std::string> parse_raw_unicode_escape(std::string_view line);

// STRING's quoted literal of Python 2, with its escapes. Gives the bytes.
std::optional<std::string> parse_quoted_string(std::string_view line);

}  // namespace snug::pickle
