// Token files without a header whose ids take 32 bits (np.uint32), read as the 16 bits that such a
// file has otherwise: every second id is then the upper half of one, 0 or 1.
#pragma once

#include "data/token_source.h"

namespace snug::data {

// By the first tokens; no text in GPT-2's tokens looks so.
bool looks_like_wide_ids(const TokenSource& tokens);

// Throws DataError, saying how to write the file again, for what looks like them.
void require_narrow_ids(const TokenSource& tokens);

}  // namespace snug::data
