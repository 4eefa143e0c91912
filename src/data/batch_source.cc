#include "data/batch_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace snug::data {

std::int64_t BatchSource::start_of(std::int64_t iteration, std::int64_t sequence,
                                   std::int64_t length) const {
  constexpr std::int64_t kMaxWord = std::numeric_limits<std::uint32_t>::max();
  if (iteration < 0 || iteration > kMaxWord || sequence < 0 || sequence > kMaxWord || length < 1 ||
      length >= file_->token_count()) {
    throw InternalError(fmt::format("sequence {} of iteration {}, {} tokens long, of {}", sequence,
                                    iteration, length, file_->name()));
  }
  const PhiloxBlock words =
      philox(seed_, {0, static_cast<std::uint32_t>(purpose_), static_cast<std::uint32_t>(sequence),
                     static_cast<std::uint32_t>(iteration)});
  const auto bound = static_cast<std::uint64_t>(file_->token_count() - length);
  return static_cast<std::int64_t>(uniform_below(words[0], words[1], bound));
}

void BatchSource::fill(std::int64_t iteration, std::int64_t sequence, std::span<std::int32_t> x,
                       std::span<std::int32_t> y) const {
  if (x.size() != y.size()) {
    throw InternalError(fmt::format("x holds {} tokens and y {}", x.size(), y.size()));
  }
  const auto length = static_cast<std::int64_t>(x.size());
  const std::int64_t start = start_of(iteration, sequence, length);
  file_->read(start, x);
  std::copy(x.begin() + 1, x.end(), y.begin());
  file_->read(start + length, y.last(1));
}

}  // namespace snug::data
