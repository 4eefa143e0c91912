// Which side of a data set text goes to: training or validation.
#pragma once

#include <cstdint>
#include <limits>

#include "base/philox.h"

namespace snug::prepare {

enum class Side { kTrain, kVal };

// Decided by lot for each document, by its place in the input, so that threads and resuming change
// nothing.
inline Side side_of_document(std::uint64_t seed, double val_share, std::int64_t file,
                             std::int64_t line) {
  const PhiloxBlock block =
      philox(seed, {static_cast<std::uint32_t>(line),
                    static_cast<std::uint32_t>(RandomPurpose::kValDocument),
                    static_cast<std::uint32_t>(line >> 32), static_cast<std::uint32_t>(file)});
  return uniform_double(block[0], block[1]) < val_share ? Side::kVal : Side::kTrain;
}

}  // namespace snug::prepare
