// Philox4x32-10 (Salmon et al., SC 2011): a random function of a key and a counter, without state.
// Every random choice in Snug is such a function of (seed, purpose, iteration, sequence, element),
// so no memory setting, resume or rank count can shift it.
#pragma once

#include <array>
#include <cstdint>

namespace snug {

using PhiloxBlock = std::array<std::uint32_t, 4>;

constexpr std::uint32_t kPhiloxMul0 = 0xD2511F53, kPhiloxMul1 = 0xCD9E8D57;
constexpr std::uint32_t kPhiloxWeyl0 = 0x9E3779B9, kPhiloxWeyl1 = 0xBB67AE85;
constexpr int kPhiloxRounds = 10;

// Four uniform 32-bit words for one counter.
constexpr PhiloxBlock philox(std::uint64_t key, PhiloxBlock counter) noexcept {
  auto key0 = static_cast<std::uint32_t>(key), key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{kPhiloxMul0} * counter[0];
    const std::uint64_t product1 = std::uint64_t{kPhiloxMul1} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key0,
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key1,
               static_cast<std::uint32_t>(product0)};
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
  return counter;
}

// What a stream of random numbers is for: word 1 of the counter, so that streams never overlap.
// Dropout sites use kDropout + 4 * layer + the site's number in the layer.
enum class RandomPurpose : std::uint32_t {
  kInit = 1,         // (element / 4, kInit, parameter index, 0)
  kTrainBatch = 2,   // (0, kTrainBatch, sequence, iteration)
  kEvalTrain = 3,    // (0, kEvalTrain, sequence, iteration)
  kEvalVal = 4,      // (0, kEvalVal, sequence, iteration)
  kSample = 5,       // (position, kSample, sample index, 0)
  kTales = 6,        // (choice, kTales, tale, 0): the built-in corpus
  kValDocument = 8,  // (line, kValDocument, line / 2^32, file): preparing data
  // (element / 4, kRoundMoments, parameter index, iteration): AdamW's moments in bfloat16
  kRoundMoments = 7,
  kDropout = 1 << 16
};

// Uniform in [0, 1) with 53 bits, from two words.
constexpr double uniform_double(std::uint32_t high, std::uint32_t low) noexcept {
  const std::uint64_t bits = (std::uint64_t{high} << 32) | low;
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

// Uniform integer in [0, bound), bound > 0, from two words, by the high half of a 128-bit product
// (bias at most bound / 2^64).
constexpr std::uint64_t uniform_below(std::uint32_t high, std::uint32_t low,
                                      std::uint64_t bound) noexcept {
  const std::uint64_t bits = (std::uint64_t{high} << 32) | low;
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits) * bound) >> 64);
}

}  // namespace snug
