// Tokens of a Python config: comments, blank lines and line continuations are gone, a logical line
// ends in kNewline, and one that does not start in the first column starts with kIndent. Literals
// are only found here; python_literals.h gives their values.
#pragma once

#include <vector>

#include "config/source_file.h"

namespace snug::config::python {

struct Token {
  enum class Kind { kName, kNumber, kString, kOperator, kNewline, kIndent, kEnd };
  Kind kind = Kind::kEnd;
  Extent extent;
};

// The last token is kEnd, and the one before it, if any, kNewline. Brackets are balanced.
// Throws ConfigError at what Python could not read either.
std::vector<Token> tokenize(const SourceFile& source);

}  // namespace snug::config::python
