// A card's kernels against the processor's: a small training run and a few sampled positions on
// both, and after every op what it wrote is compared. For the first contact with a card.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "device/cuda_device.h"

namespace snug::device {

// All ops of one kind in one precision.
struct SelftestRow {
  std::string_view op;
  DType precision;
  std::int64_t compared = 0;  // tensors
  double worst = 0;           // largest difference, as a share of the largest number of the tensor
  double bound = 0;
  std::string worst_at;  // label of the op and name of the tensor

  bool passed() const { return worst <= bound; }
};

struct SelftestTraining {
  DType precision;
  std::int64_t head_width = 0;
  int updates = 0;
  double card_loss = 0, cpu_loss = 0;  // of the last one
  double bound = 0;                    // of their difference, relative

  bool passed() const;
};

struct Selftest {
  std::vector<SelftestRow> rows;
  std::vector<SelftestTraining> trainings;
  // What CUDA and cuBLASLt took of the card beside the planned bytes while all this ran.
  std::int64_t loaded_bytes = 0;

  bool loaded_as_reckoned() const { return loaded_bytes <= cuda::kLoadedLaterBytes; }
  bool passed() const;
};

// Takes seconds on a card, half a minute emulated. `progress` is told what comes next.
Selftest run_selftest(const CudaDevice& card, const config::Config& config,
                      const std::function<void(std::string_view)>& progress);

}  // namespace snug::device
