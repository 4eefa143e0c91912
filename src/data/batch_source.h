// Training and evaluation sequences, drawn at random from a data set as nanoGPT draws them. A
// draw is a pure function of (seed, purpose, iteration, sequence), so batches, micro-batches,
// ranks and resumes only decide who reads a sequence, never which one it is.
#pragma once

#include <cstdint>
#include <span>

#include "base/philox.h"
#include "data/token_source.h"

namespace snug::data {

class BatchSource {
 public:
  // `file` must outlive the source. `purpose` is kTrainBatch, kEvalTrain or kEvalVal.
  BatchSource(const TokenSource& file, std::uint64_t seed, RandomPurpose purpose) noexcept
      : file_(&file), seed_(seed), purpose_(purpose) {}

  // Where sequence number `sequence` of `iteration` starts: uniform in [0, token_count - length).
  // Both numbers must fit 32 bits, and the file must hold more than `length` tokens.
  std::int64_t start_of(std::int64_t iteration, std::int64_t sequence, std::int64_t length) const;

  // x (T) = the tokens from there on; y (T) = the same, one token later. Any number of threads may
  // call; nothing is allocated. Throws what TokenSource::read throws.
  void fill(std::int64_t iteration, std::int64_t sequence, std::span<std::int32_t> x,
            std::span<std::int32_t> y) const;

 private:
  const TokenSource* file_;
  std::uint64_t seed_;
  RandomPurpose purpose_;
};

}  // namespace snug::data
