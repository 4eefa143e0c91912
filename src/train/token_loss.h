// `snug eval`: the loss of given tokens under a checkpoint, so that a conversion can be checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/token_rows.h"
#include "device/device.h"
#include "formats/source.h"
#include "report/plan/words.h"

namespace snug::train {

struct TokenLoss {
  double mean = 0;                         // over all targets
  std::int64_t target_count = 0;           // those that count
  std::vector<double> rows;                // the mean of each row
  std::vector<std::vector<float>> logits;  // after each row's last token; only if asked for
};

// Rows may be one token longer than the model has positions, if that token has no target: it is one
// itself, and left out. Throws DataError for a row that is too long or a token that the model does
// not have, and CapacityError when the device's budget does not take it.
TokenLoss loss_of(const formats::Source& source, const data::TokenRows& rows,
                  const device::Device& device, report::Language language, bool with_logits);

}  // namespace snug::train
