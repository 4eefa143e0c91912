// Token files without a header whose ids take 32 bits (np.uint32), read as the 16 bits that such a
// file has otherwise: every second id is then the upper half of one, 0 or 1.
#pragma once

#include <string>

#include "data/token_source.h"

namespace snug::data {

// By 64 pieces from all over a file whose ids have no header to say their width. No text in GPT-2's
// tokens looks so, but other data may (each value followed by a 0): not enough to refuse what
// somebody has said the vocabulary of.
bool looks_like_wide_ids(const TokenSource& tokens);

// For data that looks so and is read all the same.
std::string wide_ids_notice(const TokenSource& tokens);

// Throws DataError, saying how to write the file again, for what looks like them.
void require_narrow_ids(const TokenSource& tokens);

}  // namespace snug::data
