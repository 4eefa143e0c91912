// The values of number and string literals.
#pragma once

#include "config/python/lexer.h"
#include "config/value.h"

namespace snug {

// For tokens of kind kNumber and kString. Throw ConfigError at malformed literals, at numbers that
// do not fit 64 bits, and at f-strings and bytes.
Value decode_number(const SourceFile& source, const Token& token);
std::string decode_string(const SourceFile& source, const Token& token);

}  // namespace snug
