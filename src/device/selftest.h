// A card's kernels against the processor's, for the first contact with a card. Every op of a
// training step, an evaluation and some sampled positions runs on both from the same numbers, at
// shapes that a real run has; then short trainings run freely on both.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "device/cuda_device.h"

namespace snug::device {

// What a program computes in, and whether the card's float32 products may round their operands.
struct SelftestPrecision {
  DType dtype;
  bool tf32 = false;

  auto operator<=>(const SelftestPrecision&) const = default;
  std::string_view name() const { return tf32 ? "tf32" : name_of(dtype); }
};

// Of the tensor that comes nearest to its bound, or goes farthest beyond.
struct SelftestMeasure {
  double found = 0, bound = 0;
  std::string at = {};  // the op's label, the tensor's name, the shapes

  bool is_within() const { return found <= bound; }
};

// All ops of one kind in one precision.
struct SelftestRow {
  std::string_view op;
  SelftestPrecision precision;
  std::int64_t compared = 0;  // tensors
  // The largest difference, as a share of the largest number near it, and the mean of differences
  // to one side, as a share of all numbers (see op_bounds.h).
  SelftestMeasure apart = {}, drift = {};
  std::string failure = {};  // what an op threw, and which; "": none

  bool passed() const { return failure.empty() && apart.is_within() && drift.is_within(); }
};

struct SelftestTraining {
  SelftestPrecision precision;
  std::int64_t head_width = 0;
  int updates = 0;
  double card_loss = 0, cpu_loss = 0;  // of the last one
  double bound = 0;                    // of their difference
  std::string failure;                 // what ended it; "": nothing

  bool passed() const;
};

struct Selftest {
  std::vector<std::string> shapes;  // that were run, in words
  std::vector<SelftestRow> rows;
  std::vector<SelftestTraining> trainings;
  // What CUDA and cuBLASLt took of the card beside the planned bytes while all this ran.
  std::int64_t loaded_bytes = 0;
  // The card was lost, and by what: the rest was not run. "": it was not.
  std::string lost;
  std::vector<std::string> not_run;

  bool loaded_as_reckoned() const { return loaded_bytes <= cuda::kLoadedLaterBytes; }
  bool passed() const;
};

// Real shapes are GPT-2's widths and vocabularies: seconds on a card, minutes where it is emulated.
// The others keep the odd lengths and head widths, at a fraction of the width.
enum class SelftestShapes { kReal, kReduced };

// `progress` is told what comes next. Throws nothing that an op throws.
Selftest run_selftest(const CudaDevice& card, const config::Config& config, SelftestShapes shapes,
                      const std::function<void(std::string_view)>& progress);

}  // namespace snug::device
