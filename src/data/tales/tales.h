// A built-in corpus of very short English tales, with an entropy that is known: what no model can
// beat, so that a training run can be seen to arrive.
//
// The tales are written by a probabilistic grammar, and -ln p of every choice is summed while
// writing. That sum is -ln of the probability of the text, not only of its derivation, because each
// text has exactly one: wherever a rule has a choice, no alternative's leading text begins
// another's (tales_test.cc holds this for every rule), so a reader going from left to right knows
// each choice as it is reached; all else is copied from what was chosen before. The tales are
// independent, and where the text stops is a function of the text, so nothing else is random.
//
// The floor is what a model with the grammar and the whole tale before its eyes would lose. A model
// trained on windows that begin in the middle of a tale sees less, so in expectation it can only do
// worse: the floor stays a lower bound.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "data/prepare_char.h"

namespace snug::data::tales {

constexpr std::int64_t kDefaultTalesBytes = 1'200'000;
constexpr std::int64_t kMaxTalesBytes = 256'000'000;  // the text is held in memory

struct Tales {
  std::string text;  // ASCII: a character is a byte
  double nats_per_char = 0;
  std::int64_t tale_count = 0;
};

// Whole tales, numbered from `first_tale`, until there are `min_bytes` of them. Tale n of a seed is
// always the same. Throws ConfigError when `min_bytes` is not from 1 to kMaxTalesBytes.
Tales write_tales(std::uint64_t seed, std::int64_t min_bytes, std::int64_t first_tale = 0);

struct TalesSummary {
  PrepareSummary dataset;
  double train_nats_per_char = 0;
  double val_nats_per_char = 0;  // also in meta.pkl, as entropy_per_char
};

// Makes a character dataset of about `bytes` tales' characters in `directory`: train.bin, val.bin,
// meta.pkl, and tales.txt to read. The split is at the first end of a tale past 90%, so that
// val.bin is whole tales and its floor is exactly its own -ln p per character. Throws as
// prepare_char, and ConfigError when `bytes` is not from 10,000 to kMaxTalesBytes.
TalesSummary prepare_tales(const std::filesystem::path& directory, std::uint64_t seed,
                           std::int64_t bytes = kDefaultTalesBytes);

}  // namespace snug::data::tales
