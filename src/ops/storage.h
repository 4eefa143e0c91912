// Ops that fill, convert, read and write whole tensors.
#pragma once

#include "ops/operand.h"

namespace snug::ops {

struct Shapes;

// All bytes 0.
struct Zero {
  static constexpr std::string_view kName = "zero";

  WriteList tensors;

  static constexpr auto operands() { return std::tuple{NamedOperand{"tensors", &Zero::tensors}}; }
};

// Weights to their copies in the precision of the arithmetic, pair by pair, to the nearest.
struct Cast {
  static constexpr std::string_view kName = "cast";

  ReadList weights;
  WriteList copies;

  static constexpr auto operands() {
    return std::tuple{NamedOperand{"weights", &Cast::weights},
                      NamedOperand{"copies", &Cast::copies}};
  }
};

// The host takes weights and optimizer state to a file, between iterations.
struct CheckpointWrite {
  static constexpr std::string_view kName = "checkpoint_write";

  ReadList tensors;

  static constexpr auto operands() {
    return std::tuple{NamedOperand{"tensors", &CheckpointWrite::tensors}};
  }
  double traffic(const Shapes&) const { return 0; }  // by the host
};

struct CheckpointRead {
  static constexpr std::string_view kName = "checkpoint_read";

  WriteList tensors;

  static constexpr auto operands() {
    return std::tuple{NamedOperand{"tensors", &CheckpointRead::tensors}};
  }
  double traffic(const Shapes&) const { return 0; }  // by the host
};

}  // namespace snug::ops
