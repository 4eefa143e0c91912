// `snug eval`: the loss of given tokens under a checkpoint, so that a conversion can be checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/device.h"
#include "formats/source.h"
#include "report/plan/words.h"

namespace snug::train {

// Sequences of one length, row by row.
struct TokenRows {
  std::int64_t row_count = 0, length = 0;
  std::vector<std::int32_t> tokens, targets;
};

// {"tokens": [[...], ...], "targets": [[...], ...]}, or tokens alone, or just the list: the target
// is then the token that follows, and the last one has none. Throws DataError, by row and position,
// for what is not that.
TokenRows parse_token_rows(const std::string& json, const std::string& file);

struct TokenLoss {
  double mean = 0;                         // over all rows and positions
  std::vector<double> rows;                // of each row
  std::vector<std::vector<float>> logits;  // after each row's last token; only if asked for
};

// Throws DataError for a row that is too long or a token that the model does not have, and
// CapacityError when the device's budget does not take it.
TokenLoss loss_of(const formats::Source& source, const TokenRows& rows,
                  const device::Device& device, report::Language language, bool with_logits);

}  // namespace snug::train
