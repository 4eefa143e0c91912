// Rows of tokens with their targets, as `snug eval` reads them from JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace snug::data {

// The target of a position whose loss does not count, as in nanoGPT.
constexpr std::int32_t kNoTarget = -1;

// Sequences of one length, row by row.
struct TokenRows {
  std::int64_t row_count = 0, length = 0;
  std::vector<std::int32_t> tokens, targets;
};

// {"tokens": [[...], ...], "targets": [[...], ...]}, or tokens alone, or just the list: the target
// is then the token that follows, and the last one has none, kNoTarget. Throws DataError, by row
// and position, for what is not that.
TokenRows parse_token_rows(const std::string& json, const std::string& file);

}  // namespace snug::data
