// A curve in one line of text: one block character per sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace snug::cli {

using MemorySample = std::optional<std::int64_t>;  // nothing: not known at that moment

// "▁▁▃▅█": the last `width` samples on a scale from 0 to `full`, so that the height of a block is
// the share in use. A sample that is not known is a blank.
std::string sparkline(std::span<const MemorySample> samples, std::int64_t full, std::size_t width);

}  // namespace snug::cli
